"""Elements of a page. Whatever is not an element is text, and is escaped: nobody can forget it."""

from __future__ import annotations

import html
from importlib import resources
from typing import TypeAlias

from surepath.errors import visible

LONGEST = 2000
"""Characters of a text that are shown: names and notes may come from a stranger."""


class Html(str):
    """What is markup already."""

    __slots__ = ()


Child: TypeAlias = Html | str | float | None
"""What an element holds; None is left out."""

EMPTY = Html("")
VOID = frozenset({"meta", "input", "br", "line", "rect", "circle", "path", "polyline"})
"""Elements without an end."""


def asset(*names: str) -> str:
    """Files that a page or a picture holds, one after the other."""
    folder = resources.files("surepath.results.report") / "assets"
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def text(value: object) -> Html:
    """A value as text: on one line, with nothing in it that a reader would not see."""
    shown = visible(value)
    more = f" ... ({len(shown)} characters)" if len(shown) > LONGEST else ""
    return _escaped(shown[:LONGEST] + more)


def _escaped(value: object) -> Html:
    """Whole: half of a drawing's corners would be another drawing."""
    return Html(html.escape(visible(value), quote=True))


def element(name: str, /, *children: Child, **attributes: Child) -> Html:
    """An element; an underscore in the name of an attribute stands for a hyphen, `cls` for class.

    An attribute that is None is left out; one that is empty has no value.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        said = "class" if key == "cls" else key.rstrip("_").replace("_", "-")
        words.append(said if value == "" else f'{said}="{_escaped(value)}"')
    opening = " ".join(words)
    if name in VOID:
        return Html(f"<{opening}/>")  # in a drawing, what is not closed would hold all that follows
    return Html(f"<{opening}>{together(*children)}</{name}>")


def together(*children: Child) -> Html:
    return Html("".join(_child(each) for each in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    return child if isinstance(child, Html) else text(child)


def section(title: str, key: str, *children: Child) -> Html:
    """A part of the page with its heading; `key` is what links lead to."""
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, *children, id=key, aria_labelledby=f"{key}-title")


def table(head: list[str], rows: list[list[Child]], caption: str, cls: str | None = None) -> Html:
    """A table whose first column names the row."""
    heads = [element("th", each, scope="col") for each in head]
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(element("td", cell) for cell in row[1:]),
        )
        for row in rows
    ]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
        cls=cls,
    )
    return scrolled(whole, caption)


def scrolled(child: Html, label: str) -> Html:
    """What may be wider than the page, and can then be moved by keys too."""
    return element("div", child, cls="scroll", role="region", aria_label=label, tabindex="0")


def facts(pairs: list[tuple[str, Child]]) -> Html:
    """Names and values, side by side."""
    cells = [
        element("div", element("dt", name), element("dd", value))
        for name, value in pairs
        if value is not None
    ]
    return element("dl", *cells, cls="facts")


def items(texts: tuple[str, ...] | list[str], cls: str | None = None) -> Html:
    return element("ul", *(element("li", each) for each in texts), cls=cls) if texts else EMPTY


def folded(summary: str, *children: Child) -> Html:
    """What is there to be opened."""
    return element("details", element("summary", summary), *children)
