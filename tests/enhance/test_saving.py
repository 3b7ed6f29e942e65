"""Models as files: the same bits come back, damage and accidents are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kinfolk as kf
from kinfolk.enhance import GraphEnhancer

may_keep = pytest.mark.filterwarnings("ignore::kinfolk.enhance.KeptTrainingFreeWarning")


def quiet(**settings) -> GraphEnhancer:
    return GraphEnhancer(**{"show_progress": False, **settings})


@may_keep
@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize(
    "settings",
    [
        dict(k=8),
        dict(k=8, pretrained=False),
        dict(model="subgraph", k=8, steps=3),
        dict(recipe="paper", k=8, steps=3, out_dim=7, layers=2),
        dict(base="transformer", attention="band_self", k=8, steps=3),
    ],
    ids=str,
)
def test_a_saved_model_gives_the_same_bits(tmp_path, data, settings):
    X, y = data
    e = quiet(**settings).fit(X, y)
    e.save(tmp_path / "model")
    again = GraphEnhancer.load(tmp_path / "model")
    assert again.get_params() == e.get_params()
    assert (again.k_, again.trained_, again.scores_) == (e.k_, e.trained_, e.scores_)
    np.testing.assert_array_equal(again.transform(X), e.transform(X))
    np.testing.assert_array_equal(again.transform(X[:9], reference=X), e.transform(X[:9], reference=X))
    np.testing.assert_array_equal(again.get_feature_names_out(), e.get_feature_names_out())
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "weights.safetensors").read_bytes() == (
        tmp_path / "model" / "weights.safetensors"
    ).read_bytes()


def test_a_model_is_never_written_over_by_accident(tmp_path, data):
    e = quiet(k=8).fit(data[0])
    e.save(tmp_path / "model")
    with pytest.raises(kf.KinfolkError):
        e.save(tmp_path / "model")
    e.save(tmp_path / "model", force=True)
    with pytest.raises(NotFittedError):
        quiet().save(tmp_path / "other")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.json", '"k"', '"K"'),
        ("config.json", '"hops"', '"jumps"'),
        ("config.json", '"in_dim": 16', '"in_dim": 15'),
        ("config.json", '"layers": 1', '"layers": 7'),
        ("config.json", '"GraphEnhancer"', '"Oracle"'),
        ("config.json", "{", ""),
        ("weights.safetensors", None, None),
        ("weights.safetensors", "mean", "main"),
    ],
)
def test_a_damaged_model_is_refused(tmp_path, data, file, old, new):
    quiet(k=8, model="subgraph").fit(data[0]).save(tmp_path / "model")
    damaged = tmp_path / "model" / file
    if old is None:
        damaged.write_bytes(damaged.read_bytes()[:-9])
    else:
        damaged.write_bytes(damaged.read_bytes().replace(old.encode(), new.encode()))
    with pytest.raises(kf.InputError):
        GraphEnhancer.load(tmp_path / "model")


def changed(folder, change) -> None:
    file = folder / "config.json"
    whole = json.loads(file.read_text())
    change(whole["config"])
    file.write_text(json.dumps(whole))


def test_the_class_size_is_saved_and_folders_without_it_are_read(tmp_path, data):
    e = quiet(k=8).fit(data[0])
    e.class_size_ = 12.0
    e.save(tmp_path / "model")
    assert GraphEnhancer.load(tmp_path / "model").class_size_ == 12
    changed(tmp_path / "model", lambda config: config.pop("class_size"))
    assert GraphEnhancer.load(tmp_path / "model").class_size_ is None


def test_parameters_that_are_no_more_are_dropped_or_name_the_version_they_need(tmp_path, data):
    e = quiet(k=8).fit(data[0])
    e.save(tmp_path / "model")
    changed(tmp_path / "model", lambda config: config["parameters"].update(rounds=1))
    np.testing.assert_array_equal(GraphEnhancer.load(tmp_path / "model").transform(data[0]), e.transform(data[0]))
    changed(tmp_path / "model", lambda config: config["parameters"].update(rounds=2))
    with pytest.raises(kf.InputError, match=r"rounds above 1, which only kinfolk 0\.1"):
        GraphEnhancer.load(tmp_path / "model")


ENCODER = dict(model="subgraph", k=8)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("propagation.hops", 10**9, r"propagation\.hops must be less than or equal to 1000, not 1000000000"),
        ("propagation.theta_q", "x", r"propagation\.theta_q must be a valid number, not 'x'"),
        ("propagation.theta_s", 1e300, r"propagation\.theta_s must be less than or equal to 1000000"),
        ("propagation.one_way", 0, r"propagation\.one_way must be greater than 0, not 0"),
        ("propagation.attention", "magic", r"propagation\.attention must be 'none', 'self', 'quartet' or 'band'"),
        ("parameters.rounds", 10**9, "rounds above 1, which only"),
        ("parameters.rounds", 10**99, r"parameters\.rounds must be less than"),
        ("parameters.hops", 10**9, r"parameters\.hops must be less than or equal to 1000"),
        ("parameters.k", 10**9, r"parameters\.k must be less than or equal to 1048576"),
        ("parameters.layers", 10**9, r"parameters\.layers must be less than or equal to 3"),
        ("parameters.random_state", -1, r"parameters\.random_state must be greater than or equal to 0"),
        ("parameters.cmd", 1, r"parameters\.cmd is not known to this version"),
        ("k", 0, "k must be greater than or equal to 1, not 0"),
        ("k", True, "k must be a valid integer, not True"),
        ("n_features", 10**9, "n_features must be less than or equal to 1048576"),
        ("n_features", 17, r"encoder\.in_dim is 16, but n_features is 17|mean has the shape"),
        ("scores", {"a": 7.5}, r"scores\.a must be less than or equal to 1, not 7.5"),
        ("class_size", -1, "class_size must be greater than 0, not -1"),
        ("trained", "yes", "trained must be a valid boolean, not 'yes'"),
        ("encoder.hidden", 10**9, r"encoder\.hidden must be less than or equal to"),
        ("encoder.out_dim", 1 << 20, "the weights do not fit: (last|activation)"),
        ("encoder.heads", 0, r"encoder\.heads must be greater than or equal to 1"),
        ("encoder.scale", 0, r"encoder\.scale must be greater than 0, not 0"),
        ("encoder.floor", 2, r"encoder\.floor must be less than or equal to 1"),
    ],
)
def test_every_number_of_a_folder_has_a_range(tmp_path, data, place, value, message):
    quiet(**ENCODER).fit(data[0]).save(tmp_path / "model")

    def change(config) -> None:
        *outer, name = place.split(".")
        for key in outer:
            config = config[key]
        config[name] = value

    changed(tmp_path / "model", change)
    with pytest.raises(kf.InputError, match=message) as caught:
        GraphEnhancer.load(tmp_path / "model")
    assert str(tmp_path / "model") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [('{"k": Infinity}', "Infinity is not a number"), ("[" * 90_000, "nested too deep"), (" " * 5_000_000, "bytes of")],
)
def test_huge_deep_and_infinite_json(tmp_path, data, content, message):
    quiet(k=8).fit(data[0]).save(tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text(content)
    with pytest.raises(kf.InputError, match=message):
        GraphEnhancer.load(tmp_path / "model")


def test_what_cannot_be_saved_cannot_be_asked_for():
    for settings in (dict(hops=1001), dict(k=(1 << 20) + 1)):
        with pytest.raises(kf.InputError, match="must be a number"):
            quiet(**settings).fit(np.eye(4) + 0.1)


def test_a_path_that_is_not_unicode_does_not_keep_a_model_from_being_saved(tmp_path):
    enhancer = quiet(k=2, checkpoint_dir=tmp_path / "\udcff").fit(np.eye(5) + 0.1)
    enhancer.save(tmp_path / "model")
    assert GraphEnhancer.load(tmp_path / "model").k_ == 2
