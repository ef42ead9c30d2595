"""A headless Chromium, spoken to by its DevTools protocol over two pipes: no driver, no network."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60
# The browser reads commands from descriptor 3 and answers on 4.
LAUNCHER = """
import os, sys
given = [int(number) for number in sys.argv[1:3]]
for number, descriptor in enumerate(given): os.dup2(descriptor, 100 + number)
for number in (3, 4): os.dup2(97 + number, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium():
    """Return the path of the program, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in a browser that is cut off from the network; `messages` are its errors and warnings.

    With `is_offline=False` it reaches servers of this machine, and no other.
    """

    def __init__(self, folder, is_offline=True):
        program = find_chromium()
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={folder}", "--remote-debugging-pipe",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(read_there), str(write_there), program, *options],
            pass_fds=(read_there, write_there),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self.reader, self.writer = read_here, write_here
        self.received, self.number = b"", 0
        self.messages, self.requests, self.events = [], [], []
        try:
            self._attach()
            self.connect(not is_offline)
        except BaseException:
            self.close()
            raise

    def _attach(self):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def connect(self, is_connected):
        """Let servers of this machine be reached from now on, or nothing at all."""
        self.send(
            "Network.emulateNetworkConditions",
            offline=not is_connected,
            latency=0,
            downloadThroughput=-1 if is_connected else 0,
            uploadThroughput=-1 if is_connected else 0,
        )

    def send(self, method, **parameters):
        """Call a method and return its result; events that arrive meanwhile are recorded."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path, width, height=900):
        """Load a file or an address at a width in pixels; below 600 the browser acts as a phone."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.events = []
        address = path if str(path).startswith(("http", "about:")) else Path(path).absolute().as_uri()
        self.send("Page.navigate", url=address)
        while "Page.loadEventFired" not in self.events:
            self._receive()

    def evaluate(self, expression):
        """Return the value of an expression of JavaScript in the page, waited for if it is a promise."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self, path, height=None):
        """Save what the page looks like, from its top down to a height, or all of it."""
        width = self.evaluate("document.documentElement.clientWidth")
        whole = self.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height or whole, whole), "scale": 1}
        found = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(found["data"]))

    def close(self):
        """End the browser."""
        with contextlib.suppress(OSError):
            os.close(self.writer)
            os.close(self.reader)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _receive(self):
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.reader], [], [], max(0, deadline - time.monotonic()))
            block = os.read(self.reader, 1 << 16) if ready else b""
            if not block:
                raise RuntimeError("the browser does not answer")
            self.received += block
        raw, self.received = self.received.split(b"\0", 1)
        message = json.loads(raw)
        method, found = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.messages.append(str(found["exceptionDetails"].get("text")))
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(str(found.get("args")))
        elif method == "Log.entryAdded":
            self.messages.append(found["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"])
        return message


# The faults of a page, as a list of lines: it is too wide, or a picture is missing or has no size or no words.
FAULTS = """(() => {
  const faults = [];
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > room)
    faults.push(`the page is ${document.documentElement.scrollWidth} wide, and has ${room}`);
  document.querySelectorAll('details').forEach(one => { one.open = true; });
  if (document.documentElement.scrollWidth > room)
    faults.push(`unfolded, the page is ${document.documentElement.scrollWidth} wide, and has ${room}`);
  const pictures = document.querySelectorAll('svg, img, canvas');
  if (!pictures.length) faults.push('no picture');
  pictures.forEach((picture, i) => {
    const box = picture.getBoundingClientRect();
    if (!(box.width > 5 && box.height > 5)) faults.push(`picture ${i} is ${box.width} by ${box.height}`);
    if (!(picture.getAttribute('aria-label') || picture.getAttribute('alt')))
      faults.push(`picture ${i} has no words`);
  });
  return faults;
})()"""


def look_at(path, folder):
    """Open a page at the widths of a phone and of a desktop, assert that it has no faults, and return its requests."""
    browser = Browser(folder)
    try:
        for width in (390, 1280):
            browser.open(path, width)
            assert browser.evaluate(FAULTS) == [], width
        assert browser.messages == []
        return browser.requests
    finally:
        browser.close()


def schemes(requests):
    """Return the schemes of requests, which tell files from the network."""
    return {url.split(":")[0] for url in requests}
