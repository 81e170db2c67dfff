#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a flame graph in Chromium, from file://, and uses it as a person would: clicks, keys,
search. Its names come from hostile.txt: none may run, open a dialog or load anything.

    check_flame.py EBTGEN EBREPORT HOSTILE.TXT

Python's standard library alone; Chromium is spoken to over a pipe.
"""
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIP = 77
SECONDS = 300  # for an answer; far more than it needs
ALLOWED = {"svg", "style", "title", "rect", "text", "g", "script", "foreignObject", "input"}


class Browser:
    """One page of a Chromium, by its DevTools protocol over a pipe."""

    def __init__(self, program, profile):
        to_read, self.out = os.pipe()
        self.inp, to_write = os.pipe()
        flags = ["--headless", "--disable-gpu", "--disable-quic", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync", "--no-first-run",
                 "--window-size=1300,900", "--remote-debugging-pipe", "--user-data-dir=" + profile]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        command = 'exec "$@" 3<&%d 4>&%d' % (to_read, to_write)
        self.process = subprocess.Popen(["sh", "-c", command, "sh", program] + flags,
                                        pass_fds=(to_read, to_write), start_new_session=True,
                                        stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.id = 0
        self.data = b""
        self.session = None
        self.events = []
        try:
            self.attach()
        except BaseException:
            self.close()
            raise

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def message(self, timeout=SECONDS):
        end = time.monotonic() + timeout
        while b"\0" not in self.data:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.inp], [], [], left)[0]:
                sys.exit("no answer from the browser")
            piece = os.read(self.inp, 1 << 16)
            if not piece:
                sys.exit("the browser is gone")
            self.data += piece
        line, self.data = self.data.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.id += 1
        request = {"id": self.id, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.id:
                if "error" in message:
                    sys.exit("%s: %s" % (method, message["error"]))
                return message["result"]
            self.events.append(message)

    def open(self, url):
        """Until all of it is there; the page before may still say the same of itself."""
        seen = len(self.events)
        loader = self.call("Page.navigate", url=url)["loaderId"]
        while not any(e.get("method") == "Page.lifecycleEvent" and e["params"]["name"] == "load"
                      and e["params"]["loaderId"] == loader for e in self.events[seen:]):
            self.events.append(self.message())

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit("%s: %s" % (expression, result["exceptionDetails"]))
        return result["result"].get("value")

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                      button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def key(self, key, modifiers=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers,
                      windowsVirtualKeyCode=ord(key.upper()) if len(key) == 1 else
                      {"Escape": 27, "Enter": 13, "ArrowUp": 38, "ArrowDown": 40,
                       "ArrowLeft": 37, "ArrowRight": 39}[key])

    def close(self):
        """Until its helpers are gone, too, which write to its profile."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                break
            self.process.poll()
            time.sleep(0.02)
        self.process.wait()


failed = 0


def check(condition, what):
    global failed
    if not condition:
        print("FAILED:", what)
        failed += 1


def same(got, wanted, what):
    check(got == wanted, "%s: %r, not %r" % (what, got, wanted))


# A frame by its name: where it is, whether it is shown.
FRAME = """(() => {
    for (const g of document.getElementById("frames").children) {
        if (g.querySelector("title").textContent.split("\\n")[0] !== %s)
            continue;
        const box = g.querySelector("rect").getBoundingClientRect();
        return {x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width,
                shown: getComputedStyle(g).display !== "none",
                match: g.classList.contains("match"),
                text: g.querySelector("text").textContent};
    }
    return null;
})()"""


def frame(browser, name):
    found = browser.evaluate(FRAME % json.dumps(name))
    if not found:
        sys.exit("no frame " + name)
    return found


def text(browser, name):
    return browser.evaluate("document.getElementById(%s).textContent" % json.dumps(name))


def check_inert(browser):
    tags = browser.evaluate("[...document.querySelectorAll('*')].map(e => e.localName)")
    same(set(tags) - ALLOWED, set(), "elements that do not belong in the picture")
    same(tags.count("script"), 1, "number of scripts")
    handlers = browser.evaluate(
        "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
        ".filter(a => /^on/i.test(a.name) || /href|src/i.test(a.name)).map(a => a.name)")
    same(handlers, [], "attributes that do or load something")
    names = browser.evaluate(
        "[...document.querySelectorAll('#frames title')].map(t => t.textContent.split('\\n')[0])")
    for name in ("<script>alert(1)</script>", "\\x1b]0;owned\\x07\\x1b[31mred",
                 "<img src=x onerror=alert('symbol')>", "&lt;script&gt;${alert('entity')}"):
        check(name in names, "%r is not among the names %r" % (name, names))
    check(any("alert('path')" in n for n in names), "the file's name is not there: %r" % names)
    check("alert('title')" in text(browser, "title"), "the title is not there")


def check_zoom(browser):
    outer = frame(browser, "outer")
    fifty = frame(browser, "work_fifty")
    whole = frame(browser, "all")
    check(abs(outer["width"] / whole["width"] - 0.5) < 0.01, "outer is half of all")
    browser.click(fifty["x"], fifty["y"])
    zoomed = frame(browser, "work_fifty")
    check(abs(zoomed["width"] - whole["width"]) < 1, "the clicked frame fills the picture")
    same(zoomed["text"], "work_fifty", "its text")
    check(not frame(browser, "work_thirty")["shown"], "its neighbour is hidden")
    details = text(browser, "details")
    for part in ("work_fifty", "50.00 ms", "25.00 % of all", "50.00 % of its caller"):
        check(part in details, "%r in details %r" % (part, details))


def check_search(browser):
    browser.key("f", modifiers=2)
    same(browser.evaluate("document.activeElement.id"), "query", "Ctrl-F goes to the search field")
    browser.call("Input.insertText", text="work_")
    # Such frames weigh 50 + 30 + 20 and, in the other process, 40 of 200 ms.
    matched = text(browser, "matched")
    check(matched.startswith("matched 70.00 % (140.0 ms)"), "matched of all: %r" % matched)
    check("100.00 % of the frame in view" in matched, "matched in view: %r" % matched)
    check(frame(browser, "work_thirty")["match"], "a match is marked")
    check(not frame(browser, "outer")["match"], "others are not")
    browser.call("Input.insertText", text="(thirty|twenty)")
    check(text(browser, "matched").startswith("matched 25.00 %"), text(browser, "matched"))
    browser.key("Escape")
    same(text(browser, "matched"), "", "Escape ends the search")
    browser.evaluate("document.activeElement.blur()")


def check_reset(browser):
    box = browser.evaluate(
        "(() => { const b = document.getElementById('reset').getBoundingClientRect();"
        "return {x: b.x + b.width / 2, y: b.y + b.height / 2}; })()")
    browser.click(box["x"], box["y"])
    outer, whole = frame(browser, "outer"), frame(browser, "all")
    check(abs(outer["width"] / whole["width"] - 0.5) < 0.01, "reset zooms out")
    same(browser.evaluate("getComputedStyle(document.getElementById('reset')).display"), "none",
         "reset goes away")


def check_keys(browser):
    below = frame(browser, "all")["y"] > frame(browser, "outer")["y"]
    check(below, "the first frame is at the bottom")
    browser.key("i")
    check(frame(browser, "all")["y"] < frame(browser, "outer")["y"], "i turns it over")
    browser.key("i")
    browser.key("ArrowUp")  # takes the first frame
    browser.key("ArrowUp")  # the heaviest above it: of two with the same weight, the left one
    browser.key("ArrowRight")
    browser.key("ArrowLeft")
    browser.key("ArrowRight")
    name = text(browser, "details").split(",")[0]
    same(name, "<script>alert(1)</script>", "arrow keys go from frame to frame")
    browser.key("ArrowUp")
    browser.key("Enter")
    check(abs(frame(browser, "outer")["width"] - frame(browser, "all")["width"]) < 1,
          "Enter zooms")
    browser.key("Escape")
    check(frame(browser, "work_thirty")["shown"], "Escape zooms out")


def check_small_window(browser, url):
    """A picture that is higher than the window: its root and its head are both in view."""
    browser.call("Emulation.setDeviceMetricsOverride", width=800, height=200,
                 deviceScaleFactor=1, mobile=False)
    browser.open("about:blank")
    browser.open(url)
    root = frame(browser, "all")
    check(0 < root["y"] < 200, "the first frame is in view: %r" % root)
    check(root["width"] <= 800, "it is as wide as the window: %r" % root)
    title = browser.evaluate("document.getElementById('title').getBoundingClientRect().top")
    check(0 <= title < 60, "the title is in view: %r" % title)


def check_events(browser, url):
    browser.evaluate("new Promise(done => setTimeout(done, 200))")
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        check(method != "Page.javascriptDialogOpening", "a dialog: %s" % params)
        check(method != "Runtime.exceptionThrown", "an exception: %s" % params)
        if method == "Network.requestWillBeSent":
            check(params["request"]["url"] in (url, "about:blank"), "it loads %s" % params)


def main():
    ebtgen, ebreport, fixture = sys.argv[1:]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or \
        shutil.which("google-chrome")
    if not chromium:
        print("skipped: there is no chromium here to open the picture in")
        return SKIP
    with tempfile.TemporaryDirectory() as folder:
        trace, picture = os.path.join(folder, "t.ebt"), os.path.join(folder, "flame.svg")
        subprocess.run([ebtgen, fixture, trace], check=True)
        subprocess.run([ebreport, "flame", "-o", picture, trace], check=True)
        url = "file://" + picture
        browser = Browser(chromium, os.path.join(folder, "profile"))
        try:
            browser.open(url)
            check_inert(browser)
            check_zoom(browser)
            check_search(browser)
            check_reset(browser)
            check_keys(browser)
            check_small_window(browser, url)
            check_events(browser, url)
        finally:
            browser.close()
    print("%d checks failed" % failed if failed else "all checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
