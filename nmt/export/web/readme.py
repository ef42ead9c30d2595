"""The README of an exported web page: how to put the page on a server, and the licences of what is in it."""

from collections.abc import Sequence
from textwrap import indent

from nmt.config import BeamSettings
from nmt.export.comparison import Comparison
from nmt.export.formats import Exported
from nmt.export.onnx.readme import differences
from nmt.export.web.runtime import PACKAGE, PROGRAM, SCRIPT

PAGE = """\
# A page that translates in the browser

Exported by nmt from checkpoint `{checkpoint}` of the run `{run}`. It was compared with the run before it was written,
by ONNX Runtime in Python:

{report}

To look at it: `python -m http.server --directory FOLDER`, then open http://localhost:8000. Any server of plain files
will do, in any folder of it; a file that is opened without a server will not, since browsers let no script read other
files then. The server has to call `.mjs` files `text/javascript`, as almost all do. No header is needed: the model
computes in one thread.

Nothing that is written into the page leaves the browser: its Content-Security-Policy forbids connections to all but its
own server, which gives the files and is not asked again.

| file | |
|---|---|
| `index.html`, `style.css`, `page.js` | the page |
| `segmentation.js` | text to ids and back, as SentencePiece does it |
| `search.js` | the search, for a page of your own: `(await (await Model.load()).translate('…')).text` |
| `translation.json` | what they have to know: names and sizes of files, limits, the beam |
| `model/` | encoder, decoder and vocabulary |
| `runtime/` | ONNX Runtime Web, see `LICENSES.md` |

What differs from `nmt translate`:

- A line of more tokens than 99 of 100 lines that the model learned from is cut into sentences by the browser
  (`Intl.Segmenter`), not by nmt, whatever `decoding.split` says. A sentence that is still longer goes in whole, where
  nmt would halve it.
"""
LICENSES = """\
# Licences

The pages and scripts of this folder are of nmt, under the Apache License 2.0. The weights in `model/` are of whoever
trained them.

`runtime/{script}` and `runtime/{program}` are of {package} {version},
https://github.com/microsoft/onnxruntime, under the MIT licence. The third-party software in it is named in
`ThirdPartyNotices.txt` there.

    MIT License

    Copyright (c) Microsoft Corporation

    Permission is hereby granted, free of charge, to any person obtaining a copy
    of this software and associated documentation files (the "Software"), to deal
    in the Software without restriction, including without limitation the rights
    to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
    copies of the Software, and to permit persons to whom the Software is
    furnished to do so, subject to the following conditions:

    The above copyright notice and this permission notice shall be included in all
    copies or substantial portions of the Software.

    THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
    IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
    FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
    AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
    LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
    OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
    SOFTWARE.
"""


def readme(exported: Exported, comparisons: Sequence[Comparison]) -> str:
    """Return the README, in Markdown, with the results of `comparisons`."""
    settings = exported.settings
    page = PAGE.format(
        run=exported.run.path.resolve().name,
        checkpoint=settings.checkpoint,
        report=indent("\n".join(one.report() for one in comparisons), "    "),
    )
    is_beam = isinstance(settings.decoding, BeamSettings)
    return page + differences(settings.decoding, exported.tokenizer, has_beam=is_beam)


def licenses(version: str) -> str:
    """Return LICENSES.md: who wrote what is in the folder, and the licence of this version of the runtime."""
    return LICENSES.format(script=SCRIPT, program=PROGRAM, package=PACKAGE, version=version)
