"""Reading untrusted files within bounds, and replacing files atomically."""

from regal.files.read import ParseError, parse_json, read_bytes, short
from regal.files.write import write_bytes, write_json, write_text

__all__ = ["ParseError", "parse_json", "read_bytes", "short", "write_bytes", "write_json", "write_text"]
