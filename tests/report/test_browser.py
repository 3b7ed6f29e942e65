"""The page of a run in a real browser: what a reader clicks, points at and sees."""

from __future__ import annotations

import shutil
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from kinfolk.experiments.results import CaseStudy
from kinfolk.report.case import case_section
from kinfolk.report.page import Card, PageTable, write_page
from kinfolk.report.page import Page as Report
from kinfolk.report.run import run_page

pytestmark = pytest.mark.slow
FORMS = 3
SHORT, LONG = 0, 1  # the case studies of the run: 41 and 121 nodes


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return where Debian's chromium is."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is missing: make browser")
    return found


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def plain(run, tmp_path_factory):
    """The same page without charts, which opens in no time."""
    results = [result.model_copy(update=dict(charts=())) for result in run]
    return write_page(run_page(results), tmp_path_factory.mktemp("run") / "plain.html")


@pytest.fixture
def opened(browser, request):
    """Open pages; at the end nothing may have been printed on the console or requested from a network."""
    complaints: list[str] = []

    def open_page(file, **settings) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        request.addfinalizer(context.close)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(("file:", "data:")) or complaints.append(asked.url))
        page.goto(file.as_uri())
        return page

    yield open_page
    assert complaints == []


def column(page: Page, table: str, number: int) -> list[str]:
    return page.locator(f"{table} tbody tr td:nth-child({number})").all_inner_texts()


def point_at(page: Page, case: int, x: float, y: float) -> None:
    """Point into the first panel of a case study, at shares of its width and height."""
    view = page.locator(".case").nth(case).locator(".view").first
    view.scroll_into_view_if_needed()
    box = view.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])


def readouts(page: Page, case: int) -> list[str]:
    return page.locator(".case").nth(case).locator(".readout").all_inner_texts()


def test_the_page_opens_and_its_contents_lead_everywhere(opened, report):
    page = opened(report)
    links = page.locator("nav a")
    assert links.count() == 8
    links.nth(6).click()
    page.wait_for_function("document.querySelector('nav a[aria-current]').hash === '#own'")
    names = page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(names) == len(set(names))


def test_a_column_sorts_up_down_and_back_and_what_is_missing_stays_last(opened, plain):
    page = opened(plain)
    table = "#table3 .part:nth-of-type(1)"
    head = page.locator(f"{table} th button").nth(1)
    printed = column(page, table, 2)
    there = [text for text in printed if text != "–"]
    first = page.locator(f"{table} tbody tr.rule td").first
    border = "element => getComputedStyle(element).borderTopWidth"
    assert first.evaluate(border) == "2px"
    head.click()
    up = sorted(there, key=lambda text: float(text.split(" ")[0]))
    assert column(page, table, 2) == [*up, "–"]
    assert page.locator(f"{table} th").nth(1).get_attribute("aria-sort") == "ascending"
    assert first.evaluate(border) == "0px"
    head.focus()
    page.keyboard.press("Enter")
    assert column(page, table, 2) == [*reversed(up), "–"]
    head.click()
    assert column(page, table, 2) == printed
    assert first.evaluate(border) == "2px"
    page.locator(f"{table} th button").nth(0).click()
    assert column(page, table, 1) == sorted(column(page, table, 1), key=str.lower)


def test_claims_are_filtered_by_their_verdict_and_sorted_within(opened, plain):
    page = opened(plain)
    rows = page.locator("#claims details tbody tr:visible")
    assert rows.count() == 12
    page.get_by_role("button", name="does not hold 2").click()
    assert page.locator("#claims details tbody tr:visible .badge").all_inner_texts() == ["does not hold"] * 2
    assert page.get_by_role("button", name="all 12").get_attribute("aria-pressed") == "false"
    page.locator("#claims th button").nth(2).click()
    assert rows.count() == 2
    page.get_by_role("button", name="all 12").click()
    assert rows.count() == 12
    seen = page.locator(".glance .badge")
    assert seen.count() == 12  # at a glance a sign for each, with its figures
    assert seen.first.get_attribute("title") == rows.first.locator("td").nth(3).inner_text()
    page.locator("#claims summary").click()
    assert rows.count() == 0 and seen.first.is_visible()


@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_moves_away_from_under_the_pointer(opened, plain, width):
    page = opened(plain, viewport={"width": width, "height": 900})
    tops = "[...document.querySelectorAll('.view')].map(view => view.getBoundingClientRect().top + scrollY)"
    before = page.evaluate(tops)
    point_at(page, SHORT, 0.15, 0.02)
    page.mouse.down()
    page.mouse.up()
    assert "kept" in page.locator(".said").first.inner_text()
    assert page.evaluate(tops) == pytest.approx(before, abs=0.5)


@pytest.mark.parametrize("case", [SHORT, LONG])
def test_pointing_at_a_node_shows_its_weights_in_every_panel(opened, plain, case):
    page = opened(plain)
    assert readouts(page, case) == [""] * FORMS
    point_at(page, case, 0.15, 0.015)
    said = page.locator(".case").nth(case).locator(".said")
    assert said.inner_text() == "probe, class 0, cosine to the probe 1.00"
    for text in readouts(page, case):
        assert text.startswith("attends most to item")
        assert "weight 0." in text and "cosine 0." in text and "% of its attention to others stays in its class" in text
    bars = page.locator(".case").nth(case).locator("svg").last.locator("g rect")
    assert bars.count() > 40
    point_at(page, case, 0.66, 0.015)
    assert all(text.startswith("is attended to most by") for text in readouts(page, case))
    page.mouse.move(1, 1)
    assert readouts(page, case) == [""] * FORMS


def test_a_click_keeps_a_node_until_it_is_let_go(opened, plain):
    page = opened(plain)
    point_at(page, SHORT, 0.15, 0.02)
    page.mouse.down()
    page.mouse.up()
    said = page.locator(".said").first
    assert "kept" in said.inner_text()
    point_at(page, SHORT, 0.66, 0.98)
    assert said.inner_text().startswith("probe")
    partners = {text.splitlines()[0] for text in readouts(page, SHORT)}
    assert len(partners) == 1 and partners.pop().startswith("attends to item")
    page.keyboard.press("Escape")
    assert "kept" not in said.inner_text()


def test_the_keyboard_reaches_every_node(opened, plain):
    page = opened(plain)
    page.locator(".view").first.focus()
    said = page.locator(".said").first
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("probe")
    page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("item")
    page.keyboard.press("ArrowRight")
    assert readouts(page, SHORT)[0].startswith("is attended to most by")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert "kept" in said.inner_text()
    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    assert "class 6" in said.inner_text() and "kept" in said.inner_text()
    page.keyboard.press("Escape")
    assert said.inner_text() == ""


def test_the_matrix_shows_pairs_in_both_orders(opened, plain):
    page = opened(plain)
    case = page.locator(".case").first
    case.get_by_role("button", name="matrix").click()
    assert case.locator("canvas").count() == FORMS
    assert colours(case.locator("canvas").first.screenshot()) > 50
    for order in ("by class", "by rank"):
        case.get_by_role("button", name=order).click()
        point_at(page, SHORT, 0.06, 0.98)
        assert all(text.startswith("attends to probe, class 0\nweight 0.") for text in readouts(page, SHORT))
    page.locator(".view").first.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert "attends to item 1," in readouts(page, SHORT)[0]
    case.get_by_role("button", name="lines").click()
    assert case.locator("canvas").count() == 0


def a_study(count: int, labels: list[int], forms: int) -> CaseStudy:
    even = [[1 / count] * count] * count
    weights = {f"form {number}": even for number in range(forms)}
    nodes = [f"node {number}" for number in range(count)]
    return CaseStudy(data="odd", text="", nodes=nodes, labels=labels, similarities=even, weights=weights)


@pytest.mark.parametrize(
    "study",
    [
        a_study(1, [7], 1),
        a_study(3, [2, 2, 2], 6),
        a_study(160, list(range(160)), 3),
        a_study(2, [-1, 5], 2).model_copy(update=dict(weights={"none": ((0.0, 0.0), (0.0, 0.0))})),
        a_study(2, [0, 1], 0),
    ],
    ids=["one node", "one class", "all strangers", "no attention", "no forms"],
)
def test_odd_case_studies_throw_nothing(opened, tmp_path, study):
    page = opened(write_page(Report("Test", "", [], [case_section(study)]), tmp_path / "odd.html"))
    views = page.locator(".view")
    assert views.count() == len(study.weights)
    for view in ("lines", "matrix"):
        page.get_by_role("button", name=view).click()
        if views.count():
            views.last.hover()
            views.first.focus()
            for key in ("ArrowDown", "ArrowRight", "Enter", "End", "ArrowLeft", "Home", "Escape"):
                page.keyboard.press(key)


def colours(screenshot: bytes) -> int:
    with Image.open(BytesIO(screenshot)) as image:
        return len(set(image.convert("RGB").get_flattened_data()))


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_seen_on_wide_and_narrow_screens_light_and_dark(opened, report, width, scheme):
    page = opened(report, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(245, 247, 250)") == (scheme == "light")
    figure = page.locator("#figure3 figure:visible").first
    assert colours(figure.screenshot()) > 200
    assert colours(page.screenshot()) > 200


def test_a_page_without_chapters_has_tables_that_sort(opened, tmp_path):
    table = PageTable("T", ["k", "gain"], [["10", "+1.5"], ["5", "−0.5"], ["1,000", "+12%"]])
    page = opened(write_page(Report("Test", "", [Card("7", "items")], [table]), tmp_path / "demo.html"))
    assert page.locator("nav").count() == 0
    for number, expected in ((0, ["5", "10", "1,000"]), (1, ["5", "10", "1,000"])):
        page.locator("th button").nth(number).click()
        assert column(page, "table", 1) == expected
