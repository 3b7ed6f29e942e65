"""The page of tuned constants: each is a number of the package, and changes of scores are as they should be."""

import pytest

from research import make_constants as page_of


def scores(gain: float) -> dict[tuple[str, float, str], float]:
    """Return 80 for all as they are, and for FULL_CLASS at half a gain on all sets but the last."""
    done = {(kind, 1.0, name): 80.0 for kind, names in page_of.SETS_OF.items() for name in names}
    for name in page_of.SETS:
        done["FULL_CLASS", 0.5, name] = 80 + (gain if name != page_of.SETS[-1] else -1)
    return done


def test_every_constant_is_there_and_is_set_back():
    for constant in page_of.CONSTANTS:
        value = page_of.value_of(constant)
        if constant.name not in page_of.PROPAGATION:
            with page_of._set(constant, constant.changed(value, 2)):
                assert page_of.value_of(constant) != value
        assert page_of.value_of(constant) == value


def test_the_page_has_a_line_for_each_constant():
    text = page_of.page(scores(1.0))
    for constant in page_of.CONSTANTS:
        assert text.count(f"| `{constant.name}` | `{constant.module}` |") == 1
    assert "| +0.6 (vehicle_like -1.0) | – |" in text
    assert "{" not in text


def test_the_page_in_the_docs_has_the_values_of_the_package():
    text = page_of.PAGE.read_text()
    for constant in page_of.CONSTANTS:
        assert f"| `{constant.name}` | `{constant.module}` | {page_of.value_of(constant)} |" in text


def test_shares_end_at_one(monkeypatch):
    seen = []
    monkeypatch.setattr(page_of, "label_free", lambda name, changes: seen.append(changes) or 80.0)
    constants = {constant.name: constant for constant in page_of.CONSTANTS}
    assert page_of.measure(constants["one_way"], 2.0, "omniglot") == 80
    page_of.measure(constants["hops"], 0.5, "omniglot")
    assert seen == [{"one_way": pytest.approx(0.4)}, {"hops": 2}]

    def with_full_class(name, changes):
        seen.append(page_of.value_of(constants["FULL_CLASS"]))
        return 80.0

    monkeypatch.setattr(page_of, "label_free", with_full_class)
    page_of.measure(constants["FULL_CLASS"], 2.0, "omniglot")
    assert seen[-1] == 1
    assert page_of.value_of(constants["FULL_CLASS"]) < 1
