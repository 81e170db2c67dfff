#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a chart of marks in Chromium and zooms in it as a person would. Names and messages are
hostile: none may run, open a dialog or load anything.

    check_chart.py EBTGEN EBREPORT
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the folder of the sources stays as it is
import check_flame  # noqa: E402
from check_flame import check, same  # noqa: E402

ALLOWED = {"svg", "style", "title", "rect", "text", "tspan", "line", "g", "script"}
HOSTILE = ("<script>alert('group')</script>", "\"><img src=x onerror=alert('name')>",
           "]]></script><a href='javascript:alert(1)'>&lt;b&gt;${alert('message')}")
PLOT = 1138  # pixels of the picture that are time
MS = 1000000


def marks():
    """Ten of 40 ms, one each 100 ms, and a thousand of 1 us within the fourth. The recording begins
    with the first row, at the end of the first."""
    row = ('%d mark cpu=0 task=1/1/1/"<i>" kind=span origin=ebmark duration=%d late=0 key=0x0 '
           'group=%s name=%s message=%s')
    quoted = [json.dumps(word) for word in HOSTILE]
    for i in range(10):
        if i == 3:
            for k in range(1000):
                yield row % (1000 * MS + 300 * MS + k * 20000 + 1000, 1000, '"g"', '"tiny"', '""')
        message = quoted[2] if i == 5 else '"mark number %d"' % i
        yield row % (1000 * MS + i * 100 * MS + 40 * MS, 40 * MS, quoted[0], quoted[1], message)


BOX = """(() => {
    for (const g of document.getElementById("marks").children) {
        if (!g.querySelector("title").textContent.includes(%s))
            continue;
        const box = g.querySelector("rect").getBoundingClientRect();
        return {x: box.x, middle: box.x + box.width / 2, y: box.y + box.height / 2,
                width: box.width, shown: getComputedStyle(g).display !== "none",
                text: g.querySelector("text").textContent};
    }
    return null;
})()"""


def box(browser, words):
    """Once all is drawn."""
    browser.call("Runtime.evaluate", awaitPromise=True, expression="new Promise(done => "
                 "requestAnimationFrame(() => requestAnimationFrame(done)))")
    return browser.evaluate(BOX % json.dumps(words))


def ticks(browser):
    return browser.evaluate("[...document.querySelectorAll('.tick')].map(t => t.textContent)")


def check_inert(browser):
    tags = browser.evaluate("[...document.querySelectorAll('*')].map(e => e.localName)")
    same(set(tags) - ALLOWED, set(), "elements that do not belong in the picture")
    same(tags.count("script"), 1, "number of scripts")
    same(browser.evaluate(
        "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes])"
        ".filter(a => /^on/i.test(a.name) || /href|src/i.test(a.name)).map(a => a.name)"), [],
         "attributes that do or load something")
    title = browser.evaluate("[...document.querySelectorAll('#marks title')]"
                             ".map(t => t.textContent).find(t => t.includes('message'))")
    for words in HOSTILE:
        check(words in (title or ""), "%r is not in %r" % (words, title))


def wheel(browser, x, y, delta, modifiers):
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta,
                 modifiers=modifiers)


def click_twice(browser, x, y):
    browser.click(x, y)
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=2)


def check_zoom(browser):
    before, first = box(browser, "number 4"), ticks(browser)
    check(abs(before["width"] - PLOT * 40 / 900) < 1, "40 of 900 ms: %r" % before)
    wheel(browser, before["middle"], before["y"], -600, 2)  # Ctrl: 4 times as much
    after = box(browser, "number 4")
    check(abs(after["width"] / before["width"] - 4) < 0.1, "zoomed: %r, %r" % (before, after))
    check(abs(after["middle"] - before["middle"]) < 2, "what is pointed at stays there")
    check(not box(browser, "number 9")["shown"], "what is outside is hidden")
    check(ticks(browser) != first and len(ticks(browser)) >= 4, "ticks: %r" % ticks(browser))
    same(after["text"], "mark number 4", "its text")
    click_twice(browser, after["middle"], after["y"])
    filled = box(browser, "number 4")
    check(abs(filled["width"] - PLOT / 1.2) < 2, "it fills the picture: %r" % filled)
    browser.key("ArrowRight")
    moved = box(browser, "number 4")
    check(moved["x"] < filled["x"] or moved["width"] < filled["width"], "arrow keys move")
    browser.key("Escape")
    back = box(browser, "number 4")
    check(abs(back["width"] - before["width"]) < 0.1 and abs(back["x"] - before["x"]) < 0.1,
          "Escape shows all: %r, %r" % (before, back))
    same(ticks(browser), first, "ticks of the whole")
    browser.key("+")
    check(abs(box(browser, "number 4")["width"] / before["width"] - 2) < 0.05, "+ zooms")
    browser.key("-")
    browser.key("-")
    check(abs(box(browser, "number 4")["width"] - before["width"]) < 0.1, "not beyond the whole")


def main():
    ebtgen, ebreport = sys.argv[1:]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or \
        shutil.which("google-chrome")
    if not chromium:
        print("skipped: there is no chromium here to open the picture in")
        return check_flame.SKIP
    with tempfile.TemporaryDirectory() as folder:
        rows, trace, picture = (os.path.join(folder, n) for n in ("t.txt", "t.ebt", "c.svg"))
        with open(rows, "w") as f:
            f.write("\n".join(marks()) + "\n")
        subprocess.run([ebtgen, rows, trace], check=True)
        subprocess.run([ebreport, "marks", "--chart", "-o", picture, trace], check=True)
        browser = check_flame.Browser(chromium, os.path.join(folder, "profile"))
        try:
            browser.call("Emulation.setDeviceMetricsOverride", width=1400, height=600,
                         deviceScaleFactor=1, mobile=False)
            browser.open("file://" + picture)
            check_inert(browser)
            check_zoom(browser)
            check_flame.check_events(browser, "file://" + picture)
        finally:
            browser.close()
    print("%d checks failed" % check_flame.failed if check_flame.failed else "all checks passed")
    return 1 if check_flame.failed else 0


if __name__ == "__main__":
    sys.exit(main())
