"""Prints how fast a report's page is, in milliseconds as JSON: `speed.py FOLDER`, where FOLDER holds index.html."""

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("IAP_REPORT_SAMPLES", "")
from browser import make_browser  # noqa: E402

PAINT = 'return performance.getEntriesByName("first-contentful-paint")[0].startTime'

# From each key to the frame that shows what it found.
KEYSTROKES = """
    const [texts, done] = arguments;
    const box = document.querySelector("input[type=search]");
    const times = [];
    const press = () => {
        if (times.length === texts.length) return done(times);
        box.value = texts[times.length];
        const start = performance.now();
        box.dispatchEvent(new Event("input", { bubbles: true }));
        requestAnimationFrame(() => setTimeout(() => {
            times.push(performance.now() - start);
            press();
        }));
    };
    press();
"""


def median(values):
    return sorted(values)[len(values) // 2]


def main(folder):
    page = (Path(folder) / "index.html").resolve().as_uri()
    paints, keystrokes = [], []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = make_browser(profile)
        try:
            for _ in range(5):
                browser.get("about:blank")
                browser.get(page)
                paints.append(browser.execute_script(PAINT))
            for word in ["player-20", "order-4", "4700010"]:
                texts = [word[:length] for length in range(1, len(word) + 1)]
                keystrokes += browser.execute_async_script(KEYSTROKES, texts)
        finally:
            browser.quit()
    print(json.dumps({"paint": median(paints), "keystroke": median(keystrokes), "slowest": max(keystrokes)}))


main(sys.argv[1])
