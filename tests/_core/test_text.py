import pytest

from kinfolk._core.text import printable


@pytest.mark.parametrize("text", ["", "plain", "two\nlines", "Åsa 田\u3000中", "a\\x1b", "[red]x[/]", "=1+1"])
def test_what_is_harmless_stays(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb\tc\x00", r"a\rb\tc\x00"),
        ("\x9b31m", r"\x9b31m"),
        ("exe.\u202egpj", r"exe.\u202egpj"),
        ("half \ud800", r"half \ud800"),
        ("a\u2028b", r"a\u2028b"),
    ],
)
def test_what_acts_on_a_terminal_is_spelled(text, shown):
    assert printable(text) == shown
    printable(text).encode()


def test_other_values_are_their_text():
    assert printable(3) == "3"
    assert printable(ValueError("a\x1b")) == r"a\x1b"
