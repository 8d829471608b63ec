"""The files beside the page: report.json keeps its schema, and the spreadsheet holds the same figures, typed."""

import csv
import json
import os
import shutil
import subprocess
import tempfile
import unittest
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import jsonschema

SAMPLES = Path(os.environ["IAP_REPORT_SAMPLES"])
SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs/report.schema.json").read_text())


def folder(sample):
    return SAMPLES / sample / "latest"


def report(sample):
    return json.loads((folder(sample) / "report.json").read_text())


class Schema(unittest.TestCase):
    def setUp(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.validator = jsonschema.Draft202012Validator(SCHEMA)

    def test_every_report_keeps_it(self):
        for sample in ["english", "customers", "chinese", "none"]:
            self.assertEqual([error.message for error in self.validator.iter_errors(report(sample))], [], sample)

    def test_it_refuses_what_is_wrong(self):
        for change in [
            lambda wrong: wrong["cases"][0].pop("transaction_id"),
            lambda wrong: wrong["cases"][0].update(likelihood="certain"),
            lambda wrong: wrong["cases"][0].update(purchased_at="2026-09-21T14:13:20"),
            lambda wrong: wrong["cases"][0].pop("currency"),
            lambda wrong: wrong["totals"]["new"].update(hash=8),
            lambda wrong: wrong.update(surplus=1),
        ]:
            wrong = report("chinese")
            change(wrong)
            self.assertFalse(self.validator.is_valid(wrong))


class Sheets(unittest.TestCase):
    """A spreadsheet's sheets as they stand in its file."""

    sample = "english"
    NAMES = {"s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}

    def setUp(self):
        self.archive = zipfile.ZipFile(folder(self.sample) / "lost-orders.xlsx")
        self.addCleanup(self.archive.close)
        self.report = report(self.sample)

    def xml(self, path):
        return ElementTree.fromstring(self.archive.read(path))

    def sheets(self):
        book = self.xml("xl/workbook.xml")
        return [sheet.get("name") for sheet in book.findall("s:sheets/s:sheet", self.NAMES)]

    def sheet(self, name):
        return self.xml(f"xl/worksheets/sheet{self.sheets().index(name) + 1}.xml")

    def rows(self, name):
        """The rows of a sheet below its headings, as dictionaries of text and numbers."""
        rows = []
        for row in self.sheet(name).findall("s:sheetData/s:row", self.NAMES):
            values = {}
            for cell in row.findall("s:c", self.NAMES):
                column = cell.get("r").rstrip("0123456789")
                if cell.get("t") == "inlineStr":
                    values[column] = "".join(cell.itertext())
                else:
                    values[column] = float(cell.findtext("s:v", namespaces=self.NAMES))
            rows.append(values)
        headings = rows[0]
        return [{headings[column]: value for column, value in row.items()} for row in rows[1:]]


class Decisions(Sheets):
    """The columns in which a person decides, for iap-reconcile resolve --file."""

    def test_they_are_empty_and_offer_their_words(self):
        headings = {}
        for cell in self.sheet("Cases").find("s:sheetData/s:row", self.NAMES).findall("s:c", self.NAMES):
            headings["".join(cell.itertext())] = cell.get("r").rstrip("0123456789")
        validations = self.sheet("Cases").findall("s:dataValidations/s:dataValidation", self.NAMES)
        self.assertEqual([validation.get("type") for validation in validations], ["list"])
        self.assertEqual(
            validations[0].findtext("s:formula1", namespaces=self.NAMES), '"delivered,deliver,dismissed,refunded"')
        column, first = validations[0].get("sqref").split(":")[0][:-1], validations[0].get("sqref").split(":")[0][-1]
        self.assertEqual((column, first), (headings["Decision"], "2"))
        rows = [row for row in self.rows("Cases") if "Transaction" in row]
        self.assertEqual([row for row in rows if "Decision" in row or "Note" in row], [])
        for row in rows:
            self.assertTrue(
                row["Case"].startswith(f"{row['App']} {row['Environment']} {row['Transaction']} "), row["Case"])


class Customers(Sheets):
    sample = "customers"

    def test_rows_of_a_customer_stand_below_a_heading(self):
        levels = [
            int(row.get("outlineLevel", "0"))
            for row in self.sheet("Cases").findall("s:sheetData/s:row", self.NAMES)[1:]]
        rows = self.rows("Cases")
        place = next(
            place for place, row in enumerate(rows)
            if row["User"] == "user-7" and "Transaction" not in row and row["App"] == "com.example.game")
        cases = [
            case for case in self.report["cases"]
            if case.get("owner") == "user-7" and case["bundle_id"] == "com.example.game"]
        self.assertEqual(
            [row["Transaction"] for row in rows[place + 1:place + 1 + len(cases)]],
            [case["transaction_id"] for case in cases])
        self.assertEqual(levels[place:place + 2 + len(cases)], [0] + [1] * len(cases) + [0])
        yen = sum(case["price_milliunits"] for case in cases if case["currency"] == "JPY") // 1000
        heading = rows[place]["The customer's cases"].split("\n")
        self.assertEqual(heading[0], f"{len(cases)} purchases of user-7")
        self.assertIn(f"{yen} JPY", heading)
        self.assertEqual(rows[place]["Likelihood"], cases[0]["likelihood"])

    def test_patterns_have_a_sheet_and_a_column(self):
        patterns = self.report["run"]["patterns"]
        rows = self.rows("Patterns")
        self.assertEqual([row["Likely lost orders"] for row in rows], [pattern["cases"] for pattern in patterns])
        self.assertIn("com.example.puzzle", rows[0]["What"])
        named = {row["Transaction"]: row.get("Pattern", "") for row in self.rows("Cases") if "Transaction" in row}
        for case in self.report["cases"]:
            numbers = " | ".join(str(place + 1) for place in case.get("patterns", []))
            self.assertEqual(named[case["transaction_id"]], numbers)

    def test_the_summary_begins_with_the_patterns(self):
        lines = (folder(self.sample) / "summary.txt").read_text().splitlines()
        self.assertTrue(lines[4].startswith("pattern             Nothing of com.example.puzzle"), lines[4])
        self.assertEqual(len([line for line in lines if line.startswith("pattern ")]), 4)
        self.assertLessEqual(len(lines), 60)

    def test_headings_add_nothing_to_the_columns_sums(self):
        rows = self.rows("Cases")
        self.assertEqual([row for row in rows if "Transaction" not in row and "Price" in row], [])
        self.assertEqual(len([row for row in rows if "Transaction" in row]), len(self.report["cases"]))
        self.assertEqual(
            sum(round(row["Price"] * 1000) for row in rows if "Price" in row),
            sum(case["price_milliunits"] for case in self.report["cases"]))
        references = self.sheet("Cases").find("s:autoFilter", self.NAMES).get("ref")
        self.assertTrue(references.endswith(str(len(rows) + 1)))

    def test_for_how_many_periods_a_subscription_was_without_access(self):
        cases = {case["transaction_id"]: case.get("subscription") for case in self.report["cases"]}
        self.assertTrue(any(subscription is None for subscription in cases.values()))
        with open(folder(self.sample) / "lost-orders.csv", encoding="utf-8-sig", newline="") as file:
            lines = {row["transaction_id"].lstrip("'"): row for row in csv.DictReader(file)}
        for row in self.rows("Cases"):
            if "Transaction" not in row:
                continue
            subscription = cases[row["Transaction"]]
            periods = len(subscription["transaction_ids"]) if subscription else None
            self.assertEqual(row.get("Periods without access"), periods)
            self.assertEqual(lines[row["Transaction"]]["periods"], "" if periods is None else str(periods))

    def test_what_a_subscription_is_paid_and_granted_until(self):
        cases = {case["transaction_id"]: case.get("subscription", {}) for case in self.report["cases"]}
        self.assertTrue(any("entitled_until" in subscription for subscription in cases.values()))
        with open(folder(self.sample) / "lost-orders.csv", encoding="utf-8-sig", newline="") as file:
            lines = {row["transaction_id"].lstrip("'"): row for row in csv.DictReader(file)}
        for row in self.rows("Cases"):
            if "Transaction" not in row:
                continue
            for heading, column, key in [("Paid until (UTC)", "paid_until_utc", "paid_until"),
                                         ("Access granted until (UTC)", "entitled_until_utc", "entitled_until")]:
                moment = cases[row["Transaction"]].get(key, "").replace(".000Z", "Z")
                self.assertEqual(lines[row["Transaction"]][column], moment)
                until = datetime(1899, 12, 30) + timedelta(seconds=round(row.get(heading, 0) * 86400))
                self.assertEqual(until.isoformat() + "Z" if heading in row else "", moment)

    def test_summary_rows_stand_above(self):
        outline = self.sheet("Cases").find("s:sheetPr/s:outlinePr", self.NAMES)
        self.assertEqual(outline.get("summaryBelow"), "0")


class Spreadsheet(Sheets):
    def test_has_a_sheet_for_each_list(self):
        self.assertEqual(
            self.sheets(),
            ["Cases", "Unusable receipts", "Unverified receipts", "Suspicious", "Sold against seen", "Totals"])
        for name, key in [("Unusable receipts", "unusable_receipts"), ("Unverified receipts", "unverified_receipts"),
                          ("Suspicious", "suspicious"), ("Cases", "cases"),
                          ("Sold against seen", "sold_against_seen")]:
            self.assertEqual(len(self.rows(name)), len(self.report[key]), name)

    def test_headings_are_frozen_and_filtered(self):
        for name in self.sheets():
            sheet = self.sheet(name)
            pane = sheet.find("s:sheetViews/s:sheetView/s:pane", self.NAMES)
            self.assertEqual((pane.get("ySplit"), pane.get("state")), ("1", "frozen"), name)
            self.assertIsNotNone(sheet.find("s:autoFilter", self.NAMES), name)

    def test_cases_equal_the_json(self):
        epoch = datetime(1899, 12, 30)
        for row, case in zip(self.rows("Cases"), self.report["cases"], strict=True):
            self.assertEqual(row["Transaction"], case["transaction_id"])
            # What would turn the text around on a screen is shown as what it is: no letter.
            shown = " | ".join(case["candidates"]).replace("\u202e", "\ufffd")
            self.assertEqual(row["User"], shown)
            self.assertEqual(round(row["Price"] * 1000), case["price_milliunits"])
            self.assertEqual(row["Currency"], case["currency"])
            self.assertEqual(row["Quantity"], case["quantity"])
            purchased = epoch + timedelta(seconds=round(row["Purchased (UTC)"] * 86400))
            self.assertEqual(purchased.isoformat() + ".000Z", case["purchased_at"])
            local = epoch + timedelta(seconds=round(row["Purchased (Asia/Shanghai)"] * 86400))
            self.assertEqual(local - purchased, timedelta(hours=8))

    def test_totals_equal_the_json(self):
        rows = self.rows("Totals")
        for key, figure in [("verified", "verified"), ("newly_white", "newly white"), ("closing_white", "closing white")]:
            row = next(row for row in rows if row["Figure"] == figure)
            self.assertEqual(row["Transactions"], self.report["totals"][key]["transactions"])
            self.assertEqual(row["Hash"], self.report["totals"][key]["hash"])
        sums = {row["Figure"]: round(row["Amount"] * 1000) for row in rows if "Amount" in row}
        expected = {}
        for case in self.report["cases"]:
            expected[case["currency"]] = expected.get(case["currency"], 0) + case["price_milliunits"]
        self.assertEqual(sums, expected)

    def test_sales_equal_the_json(self):
        rows = self.rows("Sold against seen")
        for row, sales in zip(rows, self.report["sold_against_seen"], strict=True):
            day = datetime(1899, 12, 30) + timedelta(days=row["Day"])
            self.assertEqual(day.date().isoformat(), sales["day"])
            self.assertEqual(row["Country"], sales.get("storefront", "all"))
            for heading, key in [("Sold", "units_sold"), ("Seen", "units_seen"), ("Difference", "difference")]:
                self.assertEqual(row[heading], sales[key])


class Text(unittest.TestCase):
    def test_the_csv_holds_every_case(self):
        with open(folder("english") / "lost-orders.csv", encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(
            [row["transaction_id"].lstrip("'") for row in rows],
            [case["transaction_id"] for case in report("english")["cases"]])

    def test_the_summary_is_short(self):
        for sample in ["english", "many", "none"]:
            self.assertLessEqual(len((folder(sample) / "summary.txt").read_text().splitlines()), 60)


@unittest.skipUnless(shutil.which("soffice") and shutil.which("pdftotext"), "LibreOffice or pdftotext is not installed")
class LibreOffice(unittest.TestCase):
    """What an office other than Excel makes of the spreadsheet."""

    CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,-1"

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        for form in ["pdf", cls.CSV]:
            subprocess.run(
                [
                    "soffice", f"-env:UserInstallation=file://{cls.folder}/profile", "--headless", "--convert-to", form,
                    "--outdir", cls.folder, folder("english") / "lost-orders.xlsx",
                ],
                check=True, capture_output=True, timeout=120)
        cls.report = report("english")

    def sheet(self, name):
        with open(self.folder / f"lost-orders-{name}.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_the_figures_are_those_of_the_json(self):
        rows = {row["Transaction"]: row for row in self.sheet("Cases")}
        self.assertEqual(sorted(rows), sorted(case["transaction_id"] for case in self.report["cases"]))
        for case in self.report["cases"]:
            row = rows[case["transaction_id"]]
            self.assertEqual(int(float(row["Quantity"])), case["quantity"])
            self.assertEqual(round(float(row["Price"] or 0) * 1000), case["price_milliunits"] or 0)
            self.assertEqual(row["Currency"], case["currency"] or "")
            self.assertEqual(row["Original transaction"], case["original_transaction_id"])

    def test_nothing_is_cut_off_in_print(self):
        text = subprocess.run(
            ["pdftotext", "-raw", self.folder / "lost-orders.pdf", "-"], check=True, capture_output=True).stdout
        printed = "".join(text.decode().split())
        self.assertNotIn("###", printed)
        for name in ["Cases", "Totals"]:
            for row in self.sheet(name):
                for heading in ["User", "Transaction", "Reasons", "What to do", "Figure"]:
                    wanted = "".join(row.get(heading, "").split())
                    self.assertIn(wanted, printed, heading)
