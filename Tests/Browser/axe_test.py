"""What axe finds: nothing, on every page, light and dark, in both languages, narrow and wide."""

import os
import zipfile
from pathlib import Path

from browser import SAMPLES, PageTestCase

WHEEL = Path(os.environ["IAP_AXE"])


def axe():
    with zipfile.ZipFile(WHEEL) as wheel:
        return wheel.read("axe_core_python/axe.min.js").decode()


class Axe(PageTestCase):
    RUN = """
        const done = arguments[arguments.length - 1];
        axe.run(document, { resultTypes: ["violations"] }).then(
            results => done(results.violations.map(found =>
                `${found.id}: ${found.help}: ${found.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" | ")}`)),
            error => done([String(error)]));
        """

    def tearDown(self):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self.browser.set_window_size(1400, 1200)
        super().tearDown()

    def check(self, what):
        # By the protocol: the page's own policy lets in no script but its own.
        self.browser.execute_script(axe())
        self.assertEqual(self.browser.execute_async_script(self.RUN), [], what)

    def test_it_looks_at_all(self):
        self.browser.execute_script("document.querySelector('main').append(document.createElement('img'))")
        with self.assertRaisesRegex(AssertionError, "image-alt"):
            self.check("an image without a text")

    def everywhere(self, page):
        # Any two of the three meet once: axe takes seconds for a page.
        for scheme, language, width in [
            ("light", "en", 390), ("light", "zh", 1440), ("dark", "en", 1440), ("dark", "zh", 390),
        ]:
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            self.browser.set_window_size(width, 900)
            page(language)
            self.check((scheme, language, width))

    def test_the_page(self):
        self.everywhere(lambda language: self.open(f"lang={language}"))

    def test_an_opened_case(self):
        wanted = self.report()["cases"][0]["transaction_id"]
        self.everywhere(lambda language: self.open(f"lang={language}&open={wanted}"))

    def test_the_index(self):
        self.everywhere(lambda language: self.browser.get(f"file://{SAMPLES}/english/index.html#lang={language}"))


class Customers(Axe):
    sample = "customers"
    test_the_index = test_it_looks_at_all = None


class Nothing(Axe):
    sample = "none"
    test_the_index = test_an_opened_case = test_it_looks_at_all = None
