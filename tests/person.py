"""Somebody who uses a page of a server: writes, points, presses keys, and waits for what comes."""

import json
import time

from browser import Browser

# Records the requests of the page, and answers some in place of the server as a test says, if need be late.
FAKE = """
window.asked = []; window.fakes = {}; window.violations = [];
document.addEventListener('securitypolicyviolation', (event) => window.violations.push(event.violatedDirective));
const real = window.fetch;
window.fetch = async (path, options = {}) => {
  const asked = { path: String(path), body: options.body, signal: options.signal };
  window.asked.push(asked);
  const fake = window.fakes[path]?.(options);
  if (!fake) return real(path, options);
  await new Promise((done) => setTimeout(done, fake.late ?? 0));
  return new Response(JSON.stringify(fake.answer), { status: fake.status ?? 200 });
};
"""
KEYS = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39, "s": 83}
SHOWN = "target.textContent && !target.classList.contains('waiting')"


class Person:
    """Somebody in front of a browser."""

    def __init__(self, folder):
        self.browser = Browser(folder, is_offline=False)
        self.extra = None

    def open(self, address, width=1280, before=""):
        """Open an address afresh; the JavaScript `before` runs before that of the page."""
        if self.extra is not None:
            self.browser.send("Page.removeScriptToEvaluateOnNewDocument", identifier=self.extra)
        done = self.browser.send("Page.addScriptToEvaluateOnNewDocument", source=FAKE + before)
        self.extra = done["identifier"]
        self.browser.open("about:blank", width)
        self.browser.messages.clear()
        self.browser.open(address, width)

    def js(self, expression):
        return self.browser.evaluate(expression)

    def wait(self, expression):
        """Wait until an expression of JavaScript holds."""
        deadline = time.monotonic() + 30
        while not self.js(f"Boolean({expression})"):
            assert time.monotonic() < deadline, (expression, self.js("document.body.innerText"))
            time.sleep(0.02)

    def write(self, text):
        self.js("source.select(); source.focus()")
        self.browser.send("Input.insertText", text=text)

    def translate(self, text):
        """Write a text and wait for its translation; return it."""
        self.write(text)
        self.wait(f"source.value === {json.dumps(text)} && {SHOWN}")
        return self.js("target.textContent")

    def press(self, key, modifiers=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.browser.send(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key], modifiers=modifiers
            )  # fmt: skip
            if key == "Enter" and kind == "rawKeyDown":
                self.browser.send(
                    "Input.dispatchKeyEvent", type="char", key=key, text="\r", modifiers=modifiers
                )

    def click(self, element):
        self.point(element)
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.send(
                "Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **self.place
            )

    def point(self, element):
        """Move the pointer to the middle of an element."""
        script = f"(() => {{ const one = {element}; one.scrollIntoView({{block: 'center'}}); const b = one.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] }})()"
        self.place = dict(zip("xy", self.js(script), strict=True))
        self.browser.send("Input.dispatchMouseEvent", type="mouseMoved", **self.place)
