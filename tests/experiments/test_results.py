"""Results on disk: read as they were written, refused by name, joined with earlier ones."""

import json

import pytest

from kinfolk._core.errors import InputError
from kinfolk.experiments.results import (
    CaseStudy,
    Chart,
    Claim,
    ExperimentResult,
    Histogram,
    Line,
    Lines,
    Map,
    Table,
    read_result,
    read_results,
)


def result(name="theorem", **parts):
    return ExperimentResult(name=name, title="", about="", **parts)


def drawn(label, y):
    lines = Lines(title="α", xlabel="k", ylabel="α", lines=(Line(label=label, x=(1.0,), y=(y,)),))
    return result(charts=(Chart(name="a", title="", text="", panels=(lines,)),))


def test_every_kind_of_part_survives_the_disk(tmp_path):
    panels = (
        Lines(title="t", xlabel="k", ylabel="mAP", lines=(Line(label="a", x=(1.0,), y=(2.0,), paper=True),)),
        Histogram(title="h", xlabel="", edges=(0, 1), counts={"a": (3,)}, mark=0.5),
        Map(title="m", x=(1.0,), y=(2.0,), labels=(3,)),
    )
    case = CaseStudy(data="x", text="", nodes=("a",), labels=(0,), similarities=((1,),), weights={"self": ((1,),)})
    whole = result(
        tables=(Table(data="x", head=("", "mAP"), rows=(("raw", "**1**"),), rules=(0,), made="by hand"),),
        charts=(Chart(name="c", title="", text="", panels=panels),),
        claims=(Claim(claim="A", where="Table 1", data="x", verdict="undecided", figures=""),),
        cases=(case,),
        keys={"x": "0"},
    )
    assert read_result(whole.save(tmp_path)) == whole == read_results(tmp_path)[0]


def test_a_later_result_keeps_the_lines_of_other_sets():
    joined = drawn("two", 0.2).joined(drawn("one", 0.1)).charts[0].panels
    assert [(line.label, line.y) for line in joined[0].lines] == [("one", (0.1,)), ("two", (0.2,))]
    again = drawn("one", 0.9).joined(drawn("one", 0.1)).charts[0].panels
    assert [line.y for line in again[0].lines] == [(0.9,)]


def test_a_later_result_replaces_what_is_about_the_same_set():
    def claimed(data, verdict):
        return result(
            claims=(Claim(claim="A", where="", data=data, verdict=verdict, figures=""),), keys={data: verdict}
        )

    joined = claimed("one", "holds").joined(claimed("one", "undecided").joined(claimed("two", "holds")))
    assert [(claim.data, claim.verdict) for claim in joined.claims] == [("two", "holds"), ("one", "holds")]
    assert joined.keys == {"one": "holds", "two": "holds"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"format": 2}', "has format 2, this kinfolk reads 1"),
        ('{"format": 1, "name":', "is damaged"),
        ('{"format": 1, "name": "a"}', "is damaged"),
        ("[]", "is damaged"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, text, sentence):
    (tmp_path / "table2.json").write_text(text)
    with pytest.raises(InputError, match=rf"table2\.json {sentence}"):
        read_results(tmp_path)


def test_a_folder_without_results_says_what_to_run(tmp_path):
    with pytest.raises(InputError, match="holds no results yet: run kinfolk reproduce NAME"):
        read_results(tmp_path)


def test_a_file_of_an_earlier_version_is_read(tmp_path):
    facts = dict(format=1, name="table2", title="Table 2", about="", tables=[dict(data="x", head=["a"], rows=[["1"]])])
    (tmp_path / "table2.json").write_text(json.dumps(facts))
    assert read_result(tmp_path / "table2.json").tables[0].rows == (("1",),)


def test_a_result_of_a_former_name_is_read_until_it_is_measured_again(tmp_path):
    result("look", cells=1).save(tmp_path)
    assert [(one.name, one.cells) for one in read_results(tmp_path)] == [("closeup", 1)]
    result("closeup", cells=2).save(tmp_path)
    assert [(one.name, one.cells) for one in read_results(tmp_path)] == [("closeup", 2)]
