"""A page of a report and its parts: HTML without scripts that asks nothing of anybody."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

_LINE, _ROW, _MARGIN = 200.0, 16.0, 6.0

_STYLE = """
:root{color-scheme:light dark;--paper:#faf7f9;--card:#fff;--ink:#231826;--soft:#65586a;
--line:#ddd3df;--one:#5b2368;--two:#9a5b00;--good:#1f6a46;--good-wash:#e3f3ea;--bad:#a3182f;
--bad-wash:#fce9ec}
@media (prefers-color-scheme:dark){:root{--paper:#17111a;--card:#211926;--ink:#f1e9f3;
--soft:#b7a8bc;--line:#3b2f41;--one:#dcb0e8;--two:#f2c278;--good:#8ad9b0;--good-wash:#16352a;
--bad:#ff9aa8;--bad-wash:#431c25}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:68rem;padding:1rem;background:var(--paper);color:var(--ink);
font:1.0625rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
overflow-wrap:break-word}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .75rem}
h3{font-size:1rem;margin:0 0 .25rem}p{margin:.5rem 0}.soft{color:var(--soft)}
.promise,.warning{border-radius:14px;padding:1rem 1.1rem;margin:1rem 0;border-left:6px solid}
.promise{background:var(--good-wash);border-color:var(--good)}
.warning{background:var(--bad-wash);border-color:var(--bad)}
.numbers{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.75rem;margin:0}
.numbers div,figure{background:var(--card);border:1px solid var(--line);border-radius:14px;
padding:.8rem 1rem}
.numbers dt{color:var(--soft);font-size:.9rem}.numbers dd{margin:0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1rem}
figure{margin:0}svg{display:block;width:100%;height:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .75rem .4rem 0;
border-bottom:1px solid var(--line)}th{font-weight:600}
.number{text-align:right;font-variant-numeric:tabular-nums}
"""


def page(title: str, *parts: str, style: str = "") -> str:
    """Return a page with a title and its parts, which are HTML; `style` comes after the shared."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body><main>"
        f"<h1>{escape(title)}</h1>{''.join(parts)}</main></body></html>\n"
    )


def numbers_list(numbers: Mapping[str, str]) -> str:
    """Return the chief numbers of a report by their names, as HTML."""
    rows = "".join(f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in numbers.items())
    return f'<dl class="numbers">{rows}</dl>'


def interval_figure(
    title: str, value: float, low: float, high: float, *, span: tuple[float, float]
) -> str:
    """Return an estimate as a dot on its interval, on a scale that rows of a table share.

    `title`: read out in place of the figure. `span`: ends of the scale; a line marks 0 within it.
    """

    def across(at: float) -> float:
        share = (at - span[0]) / max(span[1] - span[0], 1e-300)
        return _MARGIN + (_LINE - 2 * _MARGIN) * min(max(share, 0.0), 1.0)

    middle = _ROW / 2
    zero = ""
    if span[0] < 0 < span[1]:
        zero = f'<path class="axis" d="M{across(0):.1f} 0V{_ROW:g}"/>'
    return (
        f'<svg class="interval" viewBox="0 0 {_LINE:g} {_ROW:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{zero}'
        f'<path class="bar" d="M{across(low):.1f} {middle:g}H{across(high):.1f}"/>'
        f'<circle class="dot" cx="{across(value):.1f}" cy="{middle:g}" r="4"/></svg>'
    )
