"""Tables 8 and 9: which encoders are trained, and that equal ones are trained once."""

import pytest

from kinfolk.experiments import ablations
from kinfolk.experiments.ablations import IDENTITY_WEIGHTS, LEARNED_WEIGHTS, STUDIES, TOPOLOGIES, fusion, topology
from kinfolk.experiments.generated_sets import CELEBRITIES


def test_ablations_share_the_cell_of_band():
    assert fusion("theta") == topology("band", LEARNED_WEIGHTS)
    names = [cell.row for cell in STUDIES["table8"].cells((CELEBRITIES,), [0], "quick")]
    assert len(names) == len(set(names)) == 9


def test_all_have_the_papers_k():
    assert all(cell.method.settings["k"] == 120 for cell in STUDIES["table8"].cells([CELEBRITIES], [0], "usual"))


@pytest.mark.parametrize("attention", TOPOLOGIES)
def test_only_the_quartet_has_weights_to_leave_out(attention):
    with_weights, without = topology(attention, LEARNED_WEIGHTS), topology(attention, IDENTITY_WEIGHTS)
    assert (with_weights == without) == (attention == "self")
    assert with_weights.settings["attention"] == without.settings["attention"] == attention


def test_table_8_has_both_columns_and_self_the_same_in_both(made_up):
    (table,) = STUDIES["table8"].tables(made_up(STUDIES["table8"], seeds=[0]))
    rows = {row[0]: row[1:3] for row in table.rows}
    assert list(rows) == list(ablations.TOPOLOGIES)
    assert rows["self"][0] == rows["self"][1] and float(rows["band"][0]) > float(rows["band"][1])
