"""What pages look like, by day and by night: classes of what is drawn, and the colours behind them."""

COLOURS = "abcdefgh"  # of what is compared; classes of what is drawn, and variables of the style

LIGHT = """color-scheme:light dark;--paper:#f7f8f9;--card:#fff;--ink:#1d2330;--faint:#5c6675;--rule:#e1e4e8;
--head:#eff2f5;--a:#2457c5;--b:#c2570c;--c:#0f7a4d;--d:#8a3ffc;--e:#b3261e;--f:#0e7490;--g:#7a5c00;--h:#b5179e;
--good:#0f7a4d;--bad:#b3261e;--good-ground:#d9f2e4;--bad-ground:#fbe0dd"""
DARK = """--paper:#14161b;--card:#1c1f26;--ink:#e8e6e1;--faint:#9aa3b2;--rule:#30343d;
--head:#242832;--a:#7ea6ff;--b:#ffa561;--c:#63d3a0;--d:#c4a1ff;--e:#ff8a80;--f:#67d3e8;--g:#e3c55b;--h:#ff8fe0;
--good:#63d3a0;--bad:#ff8a80;--good-ground:#123626;--bad-ground:#451d1a"""

FRAME = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
header,main,footer{max-width:1180px;margin:0 auto;padding:0 16px}
header{padding-top:24px}
footer{padding-top:28px;padding-bottom:40px;color:var(--faint);font-size:.88rem}
h1{font-size:1.6rem;line-height:1.25;margin:.2em 0}
h2{font-size:1.2rem;margin:2.2em 0 .3em}
h3{font-size:1rem;margin:1.2em 0 .3em}
p{max-width:72ch;margin:0 0 .8em}
.note{color:var(--faint);font-size:.92rem;margin:.2em 0 1em}
nav{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:.92rem;margin:.8em 0}
a,summary{color:var(--a)}
details{margin:.6em 0}
summary{cursor:pointer}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:.86em;background:var(--head);
border-radius:4px;padding:1px 5px}
"""

CARDS = """
.tile,figure,.table,.sentence,.notes li{background:var(--card);border:1px solid var(--rule);border-radius:10px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:1em 0}
.tile{padding:10px 14px;min-width:0}
.tile b{display:block;font-size:1.55rem;font-variant-numeric:tabular-nums;line-height:1.3}
.tile span{color:var(--faint);font-size:.85rem}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:14px;
align-items:start}
figure{margin:0;padding:12px 14px;min-width:0}
figure>h3{margin:0 0 6px}
figcaption{font-size:.88rem;color:var(--faint);margin-top:6px}
.wide{overflow-x:auto;max-width:100%}
.maps{display:flex;flex-wrap:wrap;gap:14px;align-items:flex-start;margin-bottom:14px}
.maps figure{max-width:100%}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:.92rem;margin:.4em 0;max-width:none}
.swatch{display:inline-block;width:.8em;height:.8em;border-radius:3px;margin-right:.45em;vertical-align:-.05em}
.table{overflow-x:auto;width:fit-content;max-width:100%;margin:0 0 14px}
.figures+.table{margin-top:14px}
table{border-collapse:collapse;overflow-wrap:normal;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:6px 14px;border-top:1px solid var(--rule);text-align:right;white-space:nowrap}
th:first-child,td:first-child,.text{text-align:left}
td:first-child{white-space:normal}
td.text{white-space:normal;overflow-wrap:anywhere;min-width:12em}
thead th{border-top:0;background:var(--head)}
.group th{background:var(--head);color:var(--faint);font-weight:600;white-space:normal}
.notes{list-style:none;margin:0;padding:0;display:grid;gap:8px}
.notes li{border-left:5px solid var(--b);padding:8px 12px}
.notes li.good{border-left-color:var(--good)}
.notes b{margin-right:6px}
.sentence{padding:8px 14px;margin:0 0 10px;display:grid;grid-template-columns:8.5em 1fr;gap:2px 10px}
.sentence dt{color:var(--faint);font-size:.85rem}
.sentence dd{margin:0;unicode-bidi:isolate;min-width:0}
ins{text-decoration:none;background:var(--good-ground);color:var(--good);border-radius:3px;padding:0 2px}
del{background:var(--bad-ground);color:var(--bad);border-radius:3px;padding:0 2px}
@media(max-width:520px){th,td{padding:6px 8px}.sentence{grid-template-columns:1fr}.sentence dt{margin-top:4px}}
"""

DRAWINGS = """
svg.chart{display:block;width:100%;height:auto;max-width:480px}
svg.map{display:block;flex:none}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}
.bin{fill-opacity:.2}
.marked{fill:var(--bad);fill-opacity:.16}
.whisker{stroke:var(--ink);stroke-width:1.2;fill:none}
.grid{stroke:var(--rule);stroke-width:1}
.tick,.token{fill:var(--faint);font-size:11px}
.token{fill:var(--ink);font-size:10.5px}
.ground{fill:var(--rule);fill-opacity:.35}
.unseen{fill:var(--faint);fill-opacity:.3}
.chosen{fill:var(--card)}
"""

STYLE = (
    f":root{{{LIGHT}}}\n@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}\n{FRAME}{CARDS}{DRAWINGS}"
    + "".join(
        f".swatch.{name},.bar.{name},.bin.{name},.dot.{name},.cell.{name}{{background:var(--{name});fill:var(--{name})}}"
        f".line.{name}{{stroke:var(--{name})}}\n"
        for name in COLOURS
    )
)
