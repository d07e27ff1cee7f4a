"""How quickly the page about a run with twenty thousand prefixes answers: `make bench-report`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from browsers import chromium
from reports import of_many_prefixes
from surepath.results.report.page import page_of
from surepath.results.report.sheet import sheet_of_result

TIMES = 20
"""That each is done; the slowest is told."""

ACTIONS = {
    "zoom": 'document.querySelector("[data-zoom=in]").click()',
    "zoom out": 'document.querySelector("[data-zoom=out]").click()',
    "pan": """
        const box = graph.getBoundingClientRect();
        const at = (kind, x) => graph.dispatchEvent(new PointerEvent(kind, {
            clientX: box.left + x, clientY: box.top + 200, pointerId: 1, bubbles: true}));
        graph.setPointerCapture = () => {};
        at("pointerdown", 300);
        at("pointermove", 300 + 12 * (turn % 2 ? 1 : -1));
        at("pointerup", 312);""",
    "search": """
        const field = document.getElementById("search");
        field.value = `${turn % 5} ${turn % 3}`;
        field.dispatchEvent(new Event("input"));""",
    "open": 'graph.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown"}))',
}

MEASURE = """async (turn) => {
    const graph = document.getElementById("graph");
    const begun = performance.now();
    %s;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    return performance.now() - begun;
}"""


def main() -> None:
    text = page_of(sheet_of_result(of_many_prefixes(), "large.json"))
    print(f"the page has {len(text.encode()) / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder, "large.html")
        path.write_text(text, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(path.as_uri())
        loaded = page.evaluate(
            "() => performance.timing.loadEventEnd - performance.timing.fetchStart"
        )
        print(f"loaded in {loaded} ms")
        page.locator("#graph").scroll_into_view_if_needed()
        for name, script in ACTIONS.items():
            took = sorted(page.evaluate(MEASURE % script, turn) for turn in range(TIMES))
            print(f"{name:10} median {took[TIMES // 2]:6.1f} ms, slowest {took[-1]:6.1f} ms")


if __name__ == "__main__":
    main()
