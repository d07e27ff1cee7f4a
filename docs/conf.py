"""How the site is built: `make docs`, warnings are errors."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re

import surepath

project = "surepath"
author = "the authors of surepath"
release = version = surepath.__version__
html_title = "surepath"
html_theme = "furo"
html_show_copyright = False
html_show_sphinx = False

extensions = ["myst_nb", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
default_role = "code"  # of docstrings, which have single backticks

nb_execution_in_temp = True
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
_SHORT = ("Actions", "ArrayLike", "Callback", "FeatureFunction", "FloatArray", "Future", "IntArray")
autodoc_type_aliases = {name: name for name in _SHORT}  # as they are written, not what they are
nitpick_ignore_regex = [
    ("py:.*", r"(?!surepath\.\w+$).*")
]  # types that are no public names of ours
maximum_signature_line_length = 88


def _field_comments(record: type) -> list[str]:
    """What the comments beside the fields of a record say, as a list in reStructuredText."""
    source = inspect.getsource(record)
    found = re.findall(r"^    (\w+): [^#\n]*?(?:#+ *(.*))?$", source, re.MULTILINE)
    known = {field.name for field in dataclasses.fields(record)}
    return [f"- `{name}`: {words}" for name, words in found if name in known and words]


def _arguments(paragraph: str, known: set[str]) -> list[str]:
    """A paragraph that says "name: what it is. other: what it is" as a list of arguments."""
    parts = re.split(r"(?:^|(?<=[.:] ))(\w+): ", paragraph)
    pairs = list(zip(parts[1::2], parts[2::2], strict=True))
    if parts[0] or not {name for name, _ in pairs} <= known:
        return [paragraph]
    return [f":param {name}: {words.strip()}" for name, words in pairs]


def _improve(_app, _what, _name, obj, _options, lines) -> None:
    """Arguments as a list; a record's fields with their comments, which are written for readers."""
    if callable(obj):
        known = set(inspect.signature(obj).parameters) if not _has_no_signature(obj) else set()
        paragraphs = "\n".join(lines).split("\n\n")
        said = [_arguments(" ".join(each.split("\n")), known) for each in paragraphs]
        lines[:] = [line for part in said for line in [*part, ""]]
    if isinstance(obj, type) and dataclasses.is_dataclass(obj):
        lines += ["", *_field_comments(obj), ""]


def _has_no_signature(obj) -> bool:
    return isinstance(obj, type) and issubclass(obj, (Exception, enum.Enum))


def _shorten(_app, _what, _name, _obj, _options, signature, returned):
    """Names of types as they are written."""
    return tuple(
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
        for text in (signature, returned)
    )


def setup(app) -> None:
    app.connect("autodoc-process-docstring", _improve)
    app.connect("autodoc-process-signature", _shorten)
