import gzip
import os
import stat

import pytest

from regal.files import write_bytes, write_json, write_text


def test_writes_and_replaces(tmp_path):
    path = tmp_path / "file"
    write_bytes(path, b"one")
    write_bytes(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_the_name_says_whether_text_is_compressed_and_the_time_does_not_matter(tmp_path):
    write_text(tmp_path / "a.txt", "Zürich")
    write_text(tmp_path / "a.gz", "Zürich")
    assert (tmp_path / "a.txt").read_bytes() == "Zürich".encode()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == "Zürich".encode()
    assert (tmp_path / "a.gz").read_bytes()[4:8] == bytes(4)


def test_json_is_compact_and_has_no_nan(tmp_path):
    write_json(tmp_path / "a.json", {"k": [1, None]})
    assert (tmp_path / "a.json").read_text() == '{"k":[1,null]}\n'
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "a.json", {"k": float("inf")})
    assert (tmp_path / "a.json").read_text() == '{"k":[1,null]}\n'


def test_new_files_have_the_usual_permissions(tmp_path):
    before = os.umask(0o027)
    try:
        write_bytes(tmp_path / "file", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize("step", ["replace", "fdopen"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_bytes(path, b"old")
    if step == "fdopen":

        def full(handle: int, mode: str) -> None:
            os.close(handle)
            raise OSError(28, "No space left on device")

    else:

        def full(source: str, target: str) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(ValueError, match=r"cannot write .*file: No space left on device"):
        write_bytes(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"cannot write .*No such file or directory"):
        write_bytes(tmp_path / "missing" / "file", b"")
