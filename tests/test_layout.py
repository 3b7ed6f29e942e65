"""The tests mirror the package: src/kinfolk/a/_b.py is tested by tests/a/test_b.py."""

from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "kinfolk"


def expected_test(module: Path) -> str:
    """Name the test file of a module, seen from tests/."""
    inside = module.relative_to(SOURCE)
    return str(inside.with_name(f"test_{inside.stem.lstrip('_')}.py"))


def test_where_a_test_is_expected():
    assert expected_test(SOURCE / "rerank" / "_pool.py") == "rerank/test_pool.py"


def test_every_module_has_a_test_file_of_its_name():
    modules = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    assert modules
    expected = sorted(expected_test(module) for module in modules)
    assert [name for name in expected if not (TESTS / name).is_file()] == []
