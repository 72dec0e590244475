"""HTML that cannot be injected into: every text is escaped unless it was made here."""

from collections.abc import Iterable, Sequence
from html import escape

EMPTY = ("br", "img", "input", "meta", "link", "col")


class Html(str):
    """Markup that is safe as it is; any other text is escaped when it is put into markup."""

    __slots__ = ()


def safe(part: object) -> Html:
    return part if isinstance(part, Html) else Html(escape(str(part), quote=True))


def join(parts: Iterable[object], between: str = "") -> Html:
    return Html(between.join(safe(part) for part in parts))


def element(name: str, *children: object, **attributes: object) -> Html:
    """<name …>children</name>. ``class_`` is class, data_x is data-x; True is a bare attribute, None and False none."""
    shown = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        shown += f" {key}" if value is True else f' {key}="{escape(str(value), quote=True)}"'
    if name in EMPTY:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{join(children)}</{name}>")


def paragraph(*children: object, **attributes: object) -> Html:
    return element("p", *children, **attributes)


def table(caption: str, headings: Sequence[object], rows: Iterable[Sequence[object]], **attributes: object) -> Html:
    """A real table, its first column the headings of its rows; scrolls sideways on a narrow screen."""
    head = element("tr", *(element("th", heading, scope="col") for heading in headings))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body), **attributes)
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def section(name: str, title: str, *children: object, short: str | None = None) -> Html:
    """A part of the page with its heading; ``short`` is its name in the navigation, if that is not ``name``."""
    return element("section", element("h2", title), *children, id=name, aria_label=title, data_short=short)


def folded(summary: str, *children: object, **attributes: object) -> Html:
    """A part that can be folded. It is open in the file, for readers without JavaScript; the script folds it."""
    return element("details", element("summary", summary), *children, open=True, **attributes)


def number(x: float | None, digits: int = 4) -> str:
    """As the script writes numbers too: four digits, thousands with commas, – if there is none."""
    if x is None or x != x or x in (float("inf"), float("-inf")):
        return "–"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    shown = f"{x:.{digits}g}"
    return shown if "e" not in shown or abs(x) < 1e-4 else f"{float(shown):g}"
