import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinfolk.experiments.curves import learning_panels

rows = st.lists(
    st.builds(
        dict,
        stage=st.sampled_from(["encoder", "metric t=0.1"]),
        loss=st.none() | st.floats(0, 9),
        score=st.none() | st.floats(0, 1),
    ),
    max_size=60,
).map(lambda found: [dict(row, step=step) for step, row in enumerate(found)])


@given(rows)
def test_panels_equal_a_walk_through_each_stage(found):
    panels = {panel.title: {line.label: line for line in panel.lines} for panel in learning_panels(found, "digits")}
    for stage in ("encoder", "metric t=0.1"):
        losses = [(row["step"], row["loss"]) for row in found if row["stage"] == stage and row["loss"] is not None]
        scores = [(row["step"], row["score"]) for row in found if row["stage"] == stage and row["score"] is not None]
        line = panels.get("digits: loss", {}).get(stage)
        assert (line is None) == (not losses)
        if line is not None:
            assert line.x == tuple(losses[min(a + 9, len(losses) - 1)][0] for a in range(0, len(losses), 10))
            means = [np.mean([loss for _, loss in losses[a : a + 10]]) for a in range(0, len(losses), 10)]
            np.testing.assert_allclose(line.y, means)
        line = panels.get("digits: validation", {}).get(stage)
        assert (line is None) == (not scores)
        if line is not None:
            assert list(zip(line.x, line.y, strict=True)) == scores


def test_no_log_has_no_panels():
    assert learning_panels([]) == ()
