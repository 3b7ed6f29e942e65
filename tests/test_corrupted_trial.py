"""The trial of corrupted files: the same numbers make the same damage, and every damage does damage."""

import io
import random
import zipfile

import numpy as np
import pytest
from tools.trials import corrupted


def archive() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, features=np.eye(8), labels=np.arange(8))
    return stream.getvalue()


@pytest.mark.parametrize("damage", corrupted.DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("content", [archive(), b'{"a": [1, 2.5], "b": {"c": "x"}}', b"id,f0\n1,0.5\n2,0.25\n"])
def test_damage_is_the_same_for_the_same_numbers_and_differs_from_the_file(damage, content):
    made = [bytes(damage(bytearray(content), random.Random(seed))) for seed in range(20)]
    assert made == [bytes(damage(bytearray(content), random.Random(seed))) for seed in range(20)]
    assert sum(one != content for one in made) > 10
    assert len(set(made)) > 5


def test_a_zip_gets_names_twice_and_other_methods():
    seen = set()
    for seed in range(60):
        damaged = corrupted._rewritten_zip(bytearray(archive()), random.Random(seed))
        members = zipfile.ZipFile(io.BytesIO(damaged)).infolist()
        names = [member.filename for member in members]
        seen |= {"twice"} if len(set(names)) < len(names) else set()
        seen |= {member.compress_type for member in members}
    assert {"twice", zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED} <= seen


def test_what_is_no_error_of_kinfolk_is_counted_as_foreign(tmp_path, monkeypatch):
    (tmp_path / "features-npz").mkdir()
    assert corrupted.outcome(tmp_path / "features-npz")[0] == "refused"
    monkeypatch.setattr(corrupted, "read", lambda place: {}["x"])
    result, why = corrupted.outcome(tmp_path / "features-npz")
    assert result == "foreign"
    assert "KeyError" in why
