"""JSON of strangers: bounded, and one sentence when it is not JSON."""

import pytest

from kinfolk._core.errors import InputError
from kinfolk._core.json_file import parse_json, read_json


def test_plain_json_is_read(tmp_path):
    (tmp_path / "a.json").write_text('{"name": "ä", "k": [1, 2.5, null]}', encoding="utf-8")
    assert read_json(tmp_path / "a.json") == {"name": "ä", "k": [1, 2.5, None]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b'{"k": NaN}', "NaN is not a number"),
        (b'{"k": -Infinity}', "-Infinity is not a number"),
        (b"1" * 10_000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"k": ', "not JSON"),
    ],
)
def test_other_json_is_one_sentence(content, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_json(content)
    assert "\n" not in str(caught.value)


def test_a_huge_file_is_not_read(tmp_path):
    (tmp_path / "a.json").write_text("[1, 2, 3]")
    with pytest.raises(InputError, match="9 bytes of JSON were found, at most 8 are read"):
        read_json(tmp_path / "a.json", most_bytes=8)
