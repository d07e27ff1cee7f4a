"""The page about a run in a real browser: it works, asks for nothing, and everyone can use it."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import surepath
from browsers import MISSING, Opened, browser_path, chromium
from flaky import Walk
from places import ROOT
from reports import hostile_result
from surepath.api import report

pytestmark = pytest.mark.skipif(browser_path() is None, reason=MISSING)

CAMERA = runpy.run_path(str(ROOT / "examples" / "minigrid_key.py"))["camera"]
MINIGRID = partial(CAMERA, "MiniGrid-Empty-5x5-v0", actions=(0, 1, 2))

RUNS: dict[str, tuple[Any, dict[str, Any]]] = {
    "lock": ("lock", {"horizon": 6}),
    "minigrid": (MINIGRID, {"horizon": 3, "features": "linear", "separation": 0.9}),
    "proved": (Walk(), {"guarantee": "proved", "separation": 0.5}),
    "uncertified": (Walk(), {"budget": 90}),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = dict[str, Path]()
    for name, (system, options) in RUNS.items():
        journal = folder / f"{name}.db"
        surepath.learn(system, journal=journal, **options)
        made[name] = journal.with_suffix(".html")
        made[name].write_text(report(journal).html, encoding="utf-8")
    return made


def faults(page: Page) -> list[str]:
    """What axe finds that keeps people out."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {[node['html'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", RUNS)
def test_a_page_can_be_seen_and_used(
    name: str, scheme: Any, browser: Browser, pages: dict[str, Path]
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1000, "height": 800})
    opened = Opened(context, pages[name])
    page = opened.page
    assert page.locator(".strip li").first.is_visible()
    words = "Not certified" if name == "uncertified" else "Certified"
    assert page.locator(".badge").inner_text().startswith(words)
    drawn = page.locator("#convergence svg")
    assert drawn.is_visible()
    assert drawn.locator("polyline.gap").count() == 1
    check_states(page)
    assert faults(page) == []
    assert opened.said == []
    assert opened.asked == [pages[name].as_uri()]
    context.close()


def check_states(page: Page) -> None:
    """A state is opened by the pointer, by keys and by searching."""
    panel, graph = page.locator("#state"), page.locator("#graph")
    assert "No state is open" in panel.inner_text()
    graph.focus()
    page.keyboard.press("Enter")
    assert "State s0, level 0, on the plan" in panel.inner_text()
    page.keyboard.press("ArrowRight")
    assert "level 1, on the plan" in panel.inner_text()
    assert "readings" in panel.inner_text()
    graph.scroll_into_view_if_needed()
    box = graph.bounding_box()
    assert box is not None
    clicked, line = set[str](), first_row(page)
    for step in range(1, 40):  # along the line of the plan
        graph.click(position={"x": box["width"] * step / 40, "y": line})
        clicked.add(panel.locator("h3").first.inner_text())
    assert len(clicked) > 2
    page.locator("#search").fill("1")
    page.locator("#found button").first.click()
    assert "level 1" in panel.inner_text()
    page.locator("#search").fill("s0")
    page.locator("#found button").first.press("Enter")
    assert "State s0, level 0" in panel.inner_text()
    page.locator("#search").fill("9 9 9 9")
    assert "nothing found" in page.locator("#found").inner_text()


def first_row(page: Page) -> float:
    """How far down the plan is drawn: the line of the canvas that has most of its colour."""
    script = """() => {
        const canvas = document.getElementById("graph");
        const pen = canvas.getContext("2d");
        const plan = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
        pen.save();
        pen.fillStyle = plan;
        const wanted = pen.fillStyle;
        pen.restore();
        const {data, width, height} = pen.getImageData(0, 0, canvas.width, canvas.height);
        const rows = new Map();
        for (let i = 0; i < data.length; i += 4) {
            const parts = [0, 1, 2].map((j) => data[i + j].toString(16).padStart(2, "0"));
            if ("#" + parts.join("") === wanted && data[i + 3] === 255) {
                const row = Math.floor(i / 4 / width);
                rows.set(row, (rows.get(row) ?? 0) + 1);
            }
        }
        const most = [...rows].sort((a, b) => b[1] - a[1])[0];
        return most[0] * canvas.getBoundingClientRect().height / height;
    }"""
    return float(page.evaluate(script))


def test_moving_and_zooming_change_what_is_drawn(browser: Browser, pages: dict[str, Path]) -> None:
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    page = Opened(context, pages["lock"]).page
    graph = page.locator("#graph")
    graph.scroll_into_view_if_needed()
    seen = [drawn(page)]
    page.get_by_role("button", name="Zoom in").click()
    seen.append(drawn(page))
    graph.focus()
    page.keyboard.press("+")
    seen.append(drawn(page))
    box = graph.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 200, box["y"] + 300)
    page.mouse.wheel(0, -240)
    seen.append(drawn(page))
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 330, steps=4)
    page.mouse.up()
    seen.append(drawn(page))
    assert len(set(seen)) == len(seen)
    page.keyboard.press("0")
    assert drawn(page) == seen[0]
    context.close()


def drawn(page: Page) -> str:
    """The graph as a picture, once it was drawn."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return str(page.evaluate("() => document.getElementById('graph').toDataURL()"))


def test_hostile_texts_stay_text_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "hostile.html"
    page.write_text(report(hostile_result(tmp_path / "run.json")).html, encoding="utf-8")
    context = browser.new_context(viewport={"width": 700, "height": 800})
    opened = Opened(context, page)
    assert opened.page.evaluate("() => window.hit") is None
    assert "<script>window.hit=1</script>" in opened.page.locator("h1").inner_text()
    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wide) == 0  # nothing pushes the page apart
    assert faults(opened.page) == []
    assert opened.said == []
    assert opened.asked == [page.as_uri()]
    context.close()


def test_a_narrow_page_fits(browser: Browser, pages: dict[str, Path]) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740})
    for path in pages.values():
        opened = Opened(context, path)
        wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert opened.page.evaluate(wide) == 0
        assert faults(opened.page) == []
    context.close()


def test_the_moving_picture_moves_and_ends_with_the_claim(browser: Browser, tmp_path: Path) -> None:
    """In a page, as a picture is shown: the cover goes away, and numbers take turns."""
    journal, picture = tmp_path / "run.db", tmp_path / "gap.svg"
    result = surepath.learn("lock", horizon=6, journal=journal)
    drawn = report(journal, animated=True).picture
    assert drawn is not None
    picture.write_text(drawn, encoding="utf-8")
    page = Opened(browser.new_context(reduced_motion="no-preference"), picture).page
    moments = [seen_at(page, share) for share in (0.0, 0.3, 0.9)]
    assert len(moments) == len(set(moments))
    assert moments[0][0] < moments[1][0] < moments[2][0]  # the cover
    assert [len(words) for _, words in moments] == [1, 1, 1]
    assert moments[2][1] == (result.certificate.sentence,)
    still = Opened(browser.new_context(reduced_motion="reduce"), picture).page
    assert still.evaluate("document.getAnimations().length") == 0
    assert seen_at(still, 0.0)[1] == moments[2][1]


def seen_at(page: Page, share: float) -> tuple[float, tuple[str, ...]]:
    """Where the cover begins, and what is said, at such a share of the time it plays."""
    moved = """share => {
      for (const each of document.getAnimations()) {
        each.pause();
        const timing = each.effect.getComputedTiming();
        each.currentTime = timing.duration * (1 + share);
      }
      const shown = each => getComputedStyle(each).opacity > 0.5;
      const said = [...document.querySelectorAll(".said")].filter(shown);
      const cover = document.querySelector(".cover").getBoundingClientRect();
      return [cover.x, said.map(each => each.textContent)];
    }"""
    at, words = page.evaluate(moved, share)
    return at, tuple(words)
