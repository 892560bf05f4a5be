"""The wheel holds regal and brkga, and nothing that would shadow other people's packages."""

import configparser
from pathlib import Path

from setuptools import find_packages

ROOT = Path(__file__).parent.parent


def test_the_wheel_holds_only_regal_and_brkga():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    include = config["options.packages.find"]["include"].split()
    packages = find_packages(str(ROOT), include=include)
    assert {name.split(".")[0] for name in packages} == {"regal", "brkga"}
    folders = {str(path.parent.relative_to(ROOT)) for top in ("regal", "brkga") for path in (ROOT / top).rglob("*.py")}
    assert {name.replace(".", "/") for name in packages} == folders


def test_datasets_is_no_package():
    assert not list((ROOT / "datasets").rglob("__init__.py"))


def test_every_requirement_is_pinned():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    texts = [config["options"]["install_requires"]]
    texts += [config["options.extras_require"][extra] for extra in ("torch", "onnx", "experiments", "dev")]
    wanted = {line.split(">=")[0].strip() for text in texts for line in text.split("\n") if line.strip()}
    pinned = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert wanted <= pinned


def test_all_leaves_out_what_wants_an_environment_of_its_own():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = config["options.extras_require"]["all"]
    assert "torch" in extras
    assert "tensorflow" not in extras
    assert "jax" not in extras
