"""A Chromium of the tests' own: headless, with a profile of its own, watched for what it asks the network and says."""

import atexit
import functools
import json
import os
import tempfile
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SAMPLES = Path(os.environ["IAP_REPORT_SAMPLES"])


def make_browser(profile, script=True):
    options = Options()
    for argument in [
        "--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--window-size=1400,1200",
        "--no-first-run", "--disable-background-networking", "--disable-component-update", "--lang=en-GB",
        f"--user-data-dir={profile}",
    ]:
        options.add_argument(argument)
    if os.geteuid() == 0:
        # Chromium's sandbox refuses root.
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    options.binary_location = "/usr/bin/chromium"
    browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    browser.set_script_timeout(60)
    browser.set_page_load_timeout(120)
    if not script:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    return browser


@functools.cache
def shared_browser(script):
    """One browser with scripts and one without, for all tests: to start it takes longer than a test."""
    profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    atexit.register(profile.cleanup)
    browser = make_browser(profile.name, script)
    atexit.register(browser.quit)
    return browser


class PageTestCase(unittest.TestCase):
    """Opens a page anew for each test, and holds each test to it that nothing was asked of the network and nothing
    went wrong in the console."""

    sample = "english"
    script = True

    @classmethod
    def setUpClass(cls):
        cls.browser = shared_browser(cls.script)

    def setUp(self):
        # What the browser did before, with pages of its own.
        self.browser.get("about:blank")
        self.browser.get_log("performance")
        self.browser.get_log("browser")
        self.open()

    def tearDown(self):
        requests = [
            message["params"]["request"]["url"]
            for message in (json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance"))
            if message["method"] == "Network.requestWillBeSent"
        ]
        foreign = [url for url in requests if not url.startswith(("file:", "data:"))]
        self.assertEqual(foreign, [], "the page asked the network")
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [], "the console says")

    @property
    def folder(self):
        return SAMPLES / self.sample / "latest"

    def report(self):
        return json.loads((self.folder / "report.json").read_text())

    def open(self, address="", page="index.html"):
        # From another page, so that a change of the fragment alone loads the page anew too.
        self.browser.get("about:blank")
        self.browser.get(f"file://{self.folder}/{page}{'#' + address if address else ''}")

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def wait(self, condition, message):
        return WebDriverWait(self.browser, 20).until(lambda _: condition(), message)

    @property
    def address(self):
        return self.browser.execute_script("return location.hash")

    def shown(self):
        """The transaction ids in the table, from top to bottom."""
        return self.browser.execute_script(
            "return [...document.querySelectorAll('#cases-table tr.case code.id')].map(id => id.textContent)")

    def status(self):
        return self.one("[role=status]").text
