"""What a reader does with the page beside searching: printing, following an address, copying, finding the way."""

import base64
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from browser import SAMPLES, PageTestCase

ROWS = 50


class Printed(PageTestCase):
    def sheets(self):
        """The text of each sheet, as the page's own styles lay it out on A4."""
        if shutil.which("pdftotext") is None:
            self.skipTest("poppler-utils is not installed")
        printed = self.browser.execute_cdp_cmd(
            "Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True})
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "page.pdf"
            file.write_bytes(base64.b64decode(printed["data"]))
            text = subprocess.run(["pdftotext", "-layout", file, "-"], check=True, capture_output=True, text=True)
        return text.stdout.split("\f")

    def test_holds_every_case_with_the_head_on_each_sheet(self):
        sheets = self.sheets()
        cases = [case["transaction_id"] for case in self.report()["cases"]]
        text = "".join("\n".join(sheets).split())
        self.assertEqual([id for id in cases if id not in text], [])
        with_cases = [sheet for sheet in sheets if sum(id in "".join(sheet.split()) for id in cases) > 1]
        self.assertGreater(len(with_cases), 5)
        for sheet in with_cases:
            self.assertIn("What to do", sheet)
        # And on the screen it is as before.
        self.assertEqual(len(self.shown()), ROWS)

    def test_holds_what_the_filters_show(self):
        wanted = self.report()["cases"][60]["transaction_id"]
        self.open(f"q={wanted}")
        text = "".join("\n".join(self.sheets()).split())
        self.assertIn(wanted, text)
        self.assertNotIn(self.report()["cases"][3]["transaction_id"], text)


    def test_nothing_is_wider_than_a_sheet(self):
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        # A4 without the margins that browsers leave.
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 717, "height": 1045, "deviceScaleFactor": 1, "mobile": False})
        try:
            # A product's id as long as they come: it has nowhere to break.
            wide = self.browser.execute_script("""
                for (const id of document.querySelectorAll('#cases-table tr.case td:nth-child(4) code')) {
                    id.textContent = 'com.example.reader.premium.monthly.introductory';
                }
                return [...document.querySelectorAll('table')].map(table => Math.ceil(table.getBoundingClientRect().right))
            """)
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
            self.browser.execute_script("dispatchEvent(new Event('afterprint'))")
        self.assertEqual([right for right in wide if right > 717], [])


class ManyPrinted(PageTestCase):
    sample = "many"

    def test_what_is_left_out_is_said(self):
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.status(), "The first 2,000 of 50,000 cases are printed; lost-orders.csv has them all.")
        self.assertEqual(len(self.shown()), 2000)
        self.browser.execute_script("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(len(self.shown()), ROWS)


class CustomersPrinted(PageTestCase):
    sample = "customers"

    def test_folded_cases_are_printed_too(self):
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(
            sorted(self.shown()), sorted(case["transaction_id"] for case in self.report()["cases"]))


class Way(PageTestCase):
    def tearDown(self):
        self.browser.set_window_size(1400, 1200)
        super().tearDown()

    def is_in_sight(self, element):
        return self.browser.execute_script(
            "const box = arguments[0].getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight", element)

    def test_the_next_page_shows_the_top_of_the_table(self):
        button = self.one("#pager .nextPage")
        button.click()
        self.assertTrue(self.is_in_sight(self.one("tr.case")))
        self.assertIn("nextPage", self.browser.switch_to.active_element.get_attribute("class"))

    def test_the_address_of_a_case_leads_to_it(self):
        wanted = self.report()["cases"][3 * ROWS + 30]["transaction_id"]
        self.open(f"open={wanted}")
        self.assertIn(wanted, self.one("tr.evidence").text)
        self.assertTrue(self.is_in_sight(self.one("tr.case.open")))

    def test_the_head_stays_in_sight(self):
        self.browser.execute_script("document.querySelectorAll('tr.case')[40].scrollIntoView()")
        self.assertTrue(self.is_in_sight(self.one("#cases-table th")))

    def test_sections_are_jumped_to_and_filters_stay(self):
        self.open("q=gems")
        links = self.all(".sections a")
        self.assertEqual(
            [link.text for link in links],
            ["Likely lost orders", "Receipts still not verified", "Receipts that could not be used", "Suspicious",
             "Sold against seen", "Control totals"])
        links[3].click()
        self.assertTrue(self.is_in_sight(self.one("#suspicious-heading")))
        self.assertEqual(self.address, "#q=gems")

    def test_copied_is_said_where_the_reader_is(self):
        self.one("tr.case .disclose").click()
        button = self.one("tr.evidence .copy")
        button.click()
        self.wait(lambda: button.text == "Copied", "the button says so")
        self.wait(lambda: button.text == "Copy", "and can be used again")

    def test_filters_by_what_to_do(self):
        Select(self.one("select[name=action]")).select_by_visible_text("ask the users")
        wanted = [
            case["transaction_id"] for case in self.report()["cases"] if case["action"] == "contact"
            and case["candidates"]]
        self.assertEqual(self.shown(), wanted[:ROWS])
        self.assertIn("action=askUsers", self.address)
        shown = self.shown()
        self.open(self.address.lstrip("#"))
        self.assertEqual(self.shown(), shown)

    # An id is broken where it has several lines; behind a hyphen it may go on in the next.
    BROKEN = """
        return [...document.querySelectorAll("td code, td bdi")].filter(id => {
            const range = document.createRange();
            range.selectNodeContents(id);
            return /^[\\w.]{1,40}$/.test(id.textContent) && new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
        }).map(id => id.textContent);
        """

    def test_ids_are_not_broken(self):
        for width in [390, 768, 1024, 1440]:
            self.browser.set_window_size(width, 900)
            self.open()
            for disclose in self.all("tr.case .disclose")[:3]:
                disclose.click()
            self.assertEqual(self.browser.execute_script(self.BROKEN), [], width)


class Index(PageTestCase):
    """The index of all reports, one of which ended for a long reason."""

    def tearDown(self):
        self.browser.set_window_size(1400, 1200)
        super().tearDown()

    def test_a_long_reason_wraps(self):
        self.browser.get(f"file://{SAMPLES}/english/index.html")
        cell = self.one(".runs tbody td:nth-child(2)")
        self.browser.execute_script(
            """
            const reason = document.createElement('span');
            reason.className = 'soft reason';
            reason.textContent = arguments[1];
            arguments[0].append(reason);
            """, cell,
            "the source delivered could not be pulled to its end: " + 20 * "server closed the connection unexpectedly, "
            + 200 * "x")
        for width in [390, 1440]:
            self.browser.set_window_size(width, 900)
            wider = self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
            self.assertLessEqual(wider, 0, width)
            box = self.browser.execute_script(
                "return [arguments[0].scrollWidth - arguments[0].clientWidth, arguments[0].clientWidth]", cell)
            self.assertLessEqual(box[0], 0, width)
            self.assertGreater(box[1], 100, width)
        self.assert_nothing_is_hidden()

    def test_nothing_is_hidden_but_on_a_phone(self):
        self.browser.get(f"file://{SAMPLES}/english/index.html")
        self.assert_nothing_is_hidden()

    def assert_nothing_is_hidden(self):
        for width in [700, 768, 1024, 1090, 1220, 1280, 1407, 1440]:
            self.browser.set_window_size(width, 900)
            hidden = self.browser.execute_script(
                "const list = document.querySelector('.runs .scroll'); return list.scrollWidth - list.clientWidth")
            self.assertLessEqual(hidden, 0, width)


if __name__ == "__main__":
    unittest.main()
