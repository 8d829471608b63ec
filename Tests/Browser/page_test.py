"""The page with JavaScript: what a reader can do, by mouse, keyboard and address."""

import json
import re
import shlex

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import PageTestCase

# As many as the table shows at once.
ROWS = 50


class Sections(PageTestCase):
    def test_everything_stands_in_its_place(self):
        headings = [heading.text.split("\n")[0] for heading in self.all("h1, main h2")]
        for wanted in [
            "Lost orders, 21 Sep 2026", "Paid, not delivered", "Receipts", "How long they wait", "Over the last 30 runs",
            "Likely lost orders 450", "Receipts still not verified 5", "Receipts that could not be used 7",
            "Suspicious 1", "Control totals",
        ]:
            self.assertIn(wanted, headings)
        self.assertEqual(self.browser.title, "Lost orders, 21 Sep 2026")

    def test_figures_are_those_of_the_json(self):
        cases = self.report()["cases"]
        self.assertEqual(self.one(".hero").text, str(len(cases)))
        counts = [figure.text for figure in self.all(".legend b")]
        expected = [sum(case["likelihood"] == name for case in cases) for name in ["high", "medium", "low"]]
        self.assertEqual(counts, [str(count) for count in expected])
        self.assertEqual(
            sum(int(figure.text) for figure in self.all(".ageing:not(.clients) tbody td.figure")), len(cases))

    def test_money_and_dates_stand_on_one_line(self):
        broken = self.browser.execute_script("""
            return [...document.querySelectorAll('.sums li, td.figure, code.id, td time')].filter(element => {
                const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
                while (walker.nextNode()) {
                    const range = document.createRange();
                    range.selectNodeContents(walker.currentNode);
                    if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) return true;
                }
                return false;
            }).map(element => element.textContent);
        """)
        self.assertEqual(broken, [])

    def test_a_month_is_written_in_one_way(self):
        self.one("tr.case .disclose").click()
        self.assertIn("21 Sep 2026", [time.text[:11] for time in self.all("tr.evidence time")])
        self.assertNotIn("Sept ", self.one("body").text)


class Hostile(PageTestCase):
    def test_a_clients_text_stays_text(self):
        self.open("q=onerror")
        self.assertEqual(len(self.shown()), 1)
        self.assertIn("<img src=x onerror=alert(1)>", self.one("tr.case").text)
        self.assertEqual(self.all("img"), [])

    def test_a_hostile_device_stays_text(self):
        self.open("q=alert(1)")
        self.one("tr.case .disclose").click()
        self.assertIn("</script><script>alert(1)</script>", self.one("tr.evidence").text)
        scripts = self.browser.execute_script(
            "return [...document.scripts].filter(script => script.type === '').length")
        self.assertEqual(scripts, 1)

    def test_nothing_but_our_own_script_may_run(self):
        ran = self.browser.execute_script("""
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.body.append(script);
            return window.ran === true;
        """)
        self.assertFalse(ran)
        refused = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertTrue(any("Content Security Policy" in message for message in refused), refused)


class HostileTexts(PageTestCase):
    """Each text that means something to a careless program, as a user, a product, an order and a device."""

    sample = "hostile"

    def test_none_becomes_live(self):
        self.assertGreater(len(self.shown()), 30)
        for disclose in self.all("tr.case .disclose"):
            disclose.click()
        self.assertEqual(len(self.all("tr.evidence")), len(self.shown()))
        # Had a script opened a dialogue, every command would have failed.
        live = self.browser.execute_script("""
            return [...document.querySelectorAll('*')].filter(element =>
                ['IMG', 'IFRAME', 'OBJECT', 'EMBED', 'FORM', 'BASE'].includes(element.tagName)
                || (element.tagName === 'SCRIPT' && element.type === '' && element !== document.scripts[document.scripts.length - 1])
                || (element.tagName === 'A' && !['file:', 'data:'].includes(element.protocol))
                || [...element.attributes].some(attribute => attribute.name.startsWith('on'))
            ).map(element => element.outerHTML.slice(0, 200));
        """)
        self.assertEqual(live, [])

    def test_an_id_is_one_word_of_a_commands(self):
        self.open("q=pwn")
        self.one("tr.case .disclose").click()
        commands = [code.text for code in self.all("tr.evidence .commands code")]
        self.assertEqual(len(commands), 4)
        for command in commands:
            self.assertEqual(shlex.split(command)[2], "$(id>pwn)'0", command)

    def test_each_stands_isolated_as_it_was_sent_and_in_order(self):
        isolated = set(self.browser.execute_script(
            "return [...document.querySelectorAll('tr.case bdi')].map(element => element.textContent)"))
        for case in self.report()["cases"]:
            if len(case["owner"]) <= 300:
                # An element isolates nothing that closes its isolate, or opens one that it does not close.
                self.assertIn(re.sub("[\u202a-\u202e\u2066-\u2069]", "\ufffd", case["owner"]), isolated)


class Filters(PageTestCase):
    def ids(self, condition):
        return {case["transaction_id"] for case in self.report()["cases"] if condition(case)}

    def check(self, condition):
        wanted = self.ids(condition)
        self.assertTrue(wanted)
        self.assertEqual(self.status(), f"{len(wanted)} of 450 cases")
        self.assertTrue(set(self.shown()) <= wanted)
        self.assertEqual(len(self.shown()), min(ROWS, len(wanted)))

    def choose(self, name, value):
        Select(self.one(f"select[name={name}]")).select_by_value(value)

    def test_likelihood(self):
        self.one("[data-likelihood=low]").click()
        self.check(lambda case: case["likelihood"] == "low")
        self.assertEqual(self.one("[data-likelihood=low]").get_attribute("aria-pressed"), "true")
        self.one("[data-likelihood=high]").click()
        self.check(lambda case: case["likelihood"] in ["low", "high"])

    def test_reason(self):
        self.choose("reason", "claim_failed")
        self.check(lambda case: "claim_failed" in case["reasons"])

    def test_product(self):
        self.choose("product", "chest.gold")
        self.check(lambda case: case["product_id"] == "chest.gold")

    def test_app(self):
        self.choose("app", "com.example.puzzle")
        self.check(lambda case: case["bundle_id"] == "com.example.puzzle")

    def test_new_and_old(self):
        self.choose("seen", "new")
        self.check(lambda case: case["is_new"])
        self.choose("seen", "old")
        self.check(lambda case: not case["is_new"])

    def test_age(self):
        from datetime import datetime

        # Of UTC, as finance counts them.
        def day(moment):
            return datetime.fromisoformat(moment.replace("Z", "+00:00")).date()

        today = day(self.report()["run"]["now"])

        def days(case):
            return (today - day(case["purchased_at"])).days

        self.choose("age", "8-30")
        self.check(lambda case: 8 <= days(case) <= 30)
        self.choose("age", "91-")
        self.check(lambda case: days(case) > 90)

    def test_together_and_cleared(self):
        self.choose("app", "com.example.puzzle")
        self.one("[data-likelihood=medium]").click()
        self.check(lambda case: case["bundle_id"] == "com.example.puzzle" and case["likelihood"] == "medium")
        self.one("button.clear").click()
        self.assertEqual(self.status(), "450 cases")
        self.assertEqual(self.address, "")

    def test_nothing_found(self):
        self.one("input[type=search]").send_keys("no such thing")
        self.assertEqual(self.shown(), [])
        self.assertIn("No case matches", self.one("#cases-table tbody").text)


class Search(PageTestCase):
    def find(self, text):
        search = self.one("input[type=search]")
        search.clear()
        search.send_keys(text)
        return self.shown()

    def test_every_id(self):
        cases = self.report()["cases"]
        case = next(case for case in cases if case["order_ids"] and len(case["candidates"]) == 2)
        for text in [
            case["transaction_id"], case["candidates"][0], case["candidates"][1], case["order_ids"][0],
            str(case["sightings"][0]["receipt_id"]), case["transaction_id"][4:], case["candidates"][0].upper(),
        ]:
            self.assertIn(case["transaction_id"], self.find(text), text)
        self.assertEqual(self.find(case["transaction_id"]), [case["transaction_id"]])

    def test_several_words(self):
        cases = self.report()["cases"]
        wanted = [
            case["transaction_id"] for case in cases
            if case["product_id"] == "gems.1200" and "iPad14,5" in (case["device"] or "")]
        self.assertTrue(wanted)
        self.assertEqual(self.find("gems.1200 ipad14,5"), wanted[:ROWS])

    def test_slash_goes_to_the_search(self):
        self.one("body").send_keys("/")
        self.browser.switch_to.active_element.send_keys("gems.100")
        self.assertEqual(self.one("input[type=search]").get_attribute("value"), "gems.100")


class Sorting(PageTestCase):
    def sort(self, name):
        self.one(f"[data-sort={name}]").click()
        return self.shown()

    def test_each_column_both_ways(self):
        rank = {"high": 0, "medium": 1, "low": 2}
        keys = {
            "likelihood": lambda case: rank[case["likelihood"]],
            "user": lambda case: case["candidates"][0],
            "transaction": lambda case: case["transaction_id"],
            "product": lambda case: case["product_name"],
            "price": lambda case: (case["currency"], case["price_milliunits"]),
            "purchased": lambda case: case["purchased_at"],
        }
        cases = self.report()["cases"]
        by_id = {case["transaction_id"]: case for case in cases}
        for name, key in keys.items():
            ascending = [key(by_id[id]) for id in self.sort(name)]
            self.assertEqual(ascending, sorted(key(case) for case in cases)[:ROWS], name)
            head = self.one(f"th:has([data-sort={name}])")
            self.assertEqual(head.get_attribute("aria-sort"), "ascending")
            descending = [key(by_id[id]) for id in self.sort(name)]
            self.assertEqual(descending, sorted((key(case) for case in cases), reverse=True)[:ROWS], name)
            self.sort(name)
        self.assertEqual(self.shown(), [case["transaction_id"] for case in cases[:ROWS]])

    def test_pages_of_the_table(self):
        cases = [case["transaction_id"] for case in self.report()["cases"]]
        self.one("#pager .nextPage").click()
        self.assertEqual(self.shown(), cases[ROWS:2 * ROWS])
        self.assertIn(f"{ROWS + 1} to {2 * ROWS} of 450", self.one("#pager").text)
        self.one("#pager .previousPage").click()
        self.assertEqual(self.shown(), cases[:ROWS])


class Customers(PageTestCase):
    """A customer's cases under one heading."""

    sample = "customers"

    def of(self, user, condition=lambda case: True):
        return [
            case for case in self.report()["cases"]
            if case.get("owner") == user and case["bundle_id"] == "com.example.game" and condition(case)]

    def heading(self, user):
        """The first is the game's; the same id in another app is another customer."""
        return next(row for row in self.all("tr.customer") if f" of {user}" in row.text)

    def test_are_one_line(self):
        cases = self.of("user-7")
        self.assertGreater(len(cases), ROWS)
        self.assertEqual([row for row in self.shown() if row in {case["transaction_id"] for case in cases}], [])
        heading = self.heading("user-7")
        self.assertIn(f"{len(cases)} purchases of user-7", heading.text)
        self.assertTrue(heading.text.startswith("high"))
        self.assertIn("products · com.example.game", heading.text)
        yen = sum(case["price_milliunits"] for case in cases if case["currency"] == "JPY") // 1000
        self.assertIn(f"JP¥{yen:,}", heading.text)
        oldest = min(case["purchased_at"] for case in cases).replace(".000Z", "Z")
        self.assertEqual(heading.find_element(By.TAG_NAME, "time").get_attribute("datetime"), oldest)

    def test_one_case_stays_a_plain_row(self):
        lines = self.browser.execute_script(
            "return document.querySelectorAll('#cases-table tbody tr.customer, #cases-table tbody tr.case').length")
        self.assertEqual(lines, ROWS)
        alone = self.one("tr.case:not(.member) code.id").text
        owner = next(case["owner"] for case in self.report()["cases"] if case["transaction_id"] == alone)
        self.assertEqual(len([case for case in self.report()["cases"] if case.get("owner") == owner]), 1)

    def test_opens_by_the_keyboard_and_shows_more_and_closes(self):
        cases = [case["transaction_id"] for case in self.of("user-7")]
        self.heading("user-7").find_element(By.CSS_SELECTOR, ".disclose").send_keys(Keys.ENTER)
        members = [row.text for row in self.all("tr.member code.id")]
        self.assertEqual(members, cases[:ROWS])
        self.assertEqual(self.browser.switch_to.active_element.get_attribute("aria-expanded"), "true")
        self.one("button.more").click()
        self.assertEqual([row.text for row in self.all("tr.member code.id")], cases[:2 * ROWS])
        self.assertIn(cases[ROWS], self.browser.switch_to.active_element.text)
        self.heading("user-7").find_element(By.CSS_SELECTOR, ".disclose").send_keys(Keys.ENTER)
        self.assertEqual(self.all("tr.member"), [])
        self.assertEqual(self.address, "")

    def test_filters_reach_into_them(self):
        wanted = self.of("user-7", lambda case: case["likelihood"] == "low")
        self.one("[data-likelihood=low]").click()
        heading = self.heading("user-7")
        self.assertIn(f"{len(wanted)} of {len(self.of('user-7'))} purchases of user-7", heading.text)
        self.assertTrue(heading.text.startswith("low"))
        heading.click()
        self.assertEqual(
            [row.text for row in self.all("tr.member code.id")], [case["transaction_id"] for case in wanted])

    def test_a_single_find_is_a_plain_row(self):
        wanted = self.of("user-7")[-1]["transaction_id"]
        self.one("input[type=search]").send_keys(wanted)
        self.assertEqual(self.shown(), [wanted])
        self.assertEqual(self.all("tr.customer"), [])

    def test_each_sentence_of_a_heading_names_its_customer(self):
        several = 0
        for row in self.all("tr.customer"):
            sentences = row.find_elements(By.CSS_SELECTOR, "td:last-child .sum")
            several += len(sentences) > 1
            for sentence in sentences:
                self.assertNotRegex(sentence.text, r"( |: )\.$|to \.|^\W*$", row.text)
        self.assertGreater(several, 0)

    def test_the_address_of_a_case_opens_its_customer(self):
        wanted = self.of("user-7")[ROWS + 7]["transaction_id"]
        self.open(f"open={wanted}")
        self.assertIn(wanted, self.shown())
        self.assertIn(wanted, self.one("tr.evidence").text)
        self.heading("user-7").click()
        self.assertNotIn("open", self.address)

    def test_the_address_of_a_case_turns_to_its_page(self):
        wanted = next(
            case for case in reversed(self.report()["cases"]) if "owner" not in case)["transaction_id"]
        self.open(f"open={wanted}")
        self.assertIn(wanted, self.shown())

    def test_the_address_holds_who_is_open(self):
        self.heading("user-7").click()
        shown, address = self.shown(), self.address
        self.open(address.lstrip("#"))
        self.assertEqual(self.shown(), shown)

    def test_sorting_keeps_them_together(self):
        self.heading("user-7").click()
        for name in ["price", "purchased", "user"]:
            self.one(f"[data-sort={name}]").click()
            rows = self.browser.execute_script(
                "return [...document.querySelectorAll('#cases-table tbody tr')].map(row => row.className)")
            if not any("member" in row for row in rows):
                continue
            first = next(place for place, row in enumerate(rows) if "member" in row)
            self.assertIn("customer", rows[first - 1])
            self.assertTrue(all("member" in row for row in rows[first:first + ROWS]))

    def test_speaks_chinese(self):
        self.open("lang=zh")
        self.assertIn(f"user-7 的 {len(self.of('user-7'))} 笔购买", self.one("#cases-table").text)
        self.assertNotIn("purchases", self.one("#cases-table").text)


class Patterns(PageTestCase):
    """What many cases have in common, at the top."""

    sample = "customers"

    def test_a_click_leaves_its_cases(self):
        for place, pattern in enumerate(self.report()["run"]["patterns"]):
            wanted = [case for case in self.report()["cases"] if place in case.get("patterns", [])]
            self.assertEqual(len(wanted), pattern["cases"])
            self.one("[data-likelihood=low]").click()
            self.one(f"[data-pattern='{place + 1}']").click()
            self.assertEqual(self.status(), f"{len(wanted)} of 450 cases")
            self.assertEqual(self.browser.switch_to.active_element.get_attribute("id"), "cases-heading")
            self.assertTrue(set(self.shown()) <= {case["transaction_id"] for case in wanted})
            self.assertIn(f"pattern={place + 1}", self.address)

    def test_say_what_and_how_many(self):
        text = self.one("section.patterns").text
        patterns = self.report()["run"]["patterns"]
        self.assertIn("Nothing of com.example.puzzle that was bought since 19 Sep 2026", text)
        self.assertIn("chest.gold of com.example.game was not delivered once", text)
        self.assertIn("Device model iPad14,5", text)
        for pattern in patterns:
            self.assertIn(f"Show its cases ({pattern['cases']})", text)

    def test_the_address_and_the_filter_hold_one(self):
        self.open("pattern=3")
        count = self.report()["run"]["patterns"][2]["cases"]
        self.assertEqual(self.status(), f"{count} of 450 cases")
        select = Select(self.one("select[name=pattern]"))
        self.assertEqual(select.first_selected_option.text, "iPad14,5")
        self.one("button.clear").click()
        self.assertEqual(self.status(), "450 cases")
        self.open("pattern=99")
        self.assertEqual(self.status(), "450 cases")

    def test_in_chinese(self):
        self.one("[data-set-language=zh]").click()
        text = self.one("section.patterns").text
        self.assertIn("全部没有发货", text)
        self.assertNotIn("Nothing", text)


class Evidence(PageTestCase):
    def test_opens_and_closes(self):
        button = self.one("tr.case .disclose")
        self.assertEqual(button.get_attribute("aria-expanded"), "false")
        button.click()
        self.assertEqual(button.get_attribute("aria-expanded"), "true")
        panel = self.one(f"#{button.get_attribute('aria-controls')}")
        case = self.report()["cases"][0]
        for text in [case["transaction_id"], case["owner"], case["bundle_id"], "What happened", "Why it is listed"]:
            self.assertIn(text, panel.text)
        times = [time.get_attribute("datetime") for time in panel.find_elements(By.CSS_SELECTOR, "ol time")]
        self.assertGreaterEqual(len(times), 4)
        self.assertEqual(times, sorted(times))
        button.click()
        self.assertEqual(self.all("tr.evidence"), [])

    def test_a_click_on_the_row_opens_too(self):
        self.one("tr.case td:last-child").click()
        self.assertEqual(len(self.all("tr.evidence")), 1)

    def test_tells_who_is_on_it_and_what_they_wrote(self):
        self.one("tr.case .disclose").click()
        told = self.one("tr.evidence ol").text
        self.assertIn("sue <b> is on it", told)
        self.assertIn("sue <b>: asked for <i>her</i> phone", told)
        self.assertIn("Wait: the app's server is to deliver it to", self.one("tr.evidence").text)
        case = self.report()["cases"][0]
        self.assertEqual(case["taken"]["by"], "sue <b>")
        self.assertEqual([comment["text"] for comment in case["comments"]], ["asked for <i>her</i> phone"])

    def test_gives_the_commands_to_copy(self):
        self.one("tr.case .disclose").click()
        wanted = self.report()["cases"][0]["transaction_id"]
        commands = [code.text for code in self.all("tr.evidence .commands code")]
        self.assertEqual(len(commands), 4)
        self.assertEqual(commands[0], f'iap-reconcile resolve {wanted} --delivered --by "" --note ""')
        for command in commands:
            self.assertIn(wanted, command)

    def test_where_it_is_not_certain_whose_it_is_the_command_asks_for_the_user(self):
        wanted = next(
            case["transaction_id"] for case in self.report()["cases"]
            if len(case["candidates"]) != 1 or "owner_uncertain" in case["reasons"])
        self.open(f"q={wanted}")
        self.one("tr.case .disclose").click()
        self.assertEqual(
            self.one("tr.evidence .commands code").text,
            f'iap-reconcile resolve {wanted} --delivered --user "" --by "" --note ""')

    def test_copies_a_command_for_each_case_that_the_filters_leave(self):
        self.browser.execute_cdp_cmd(
            "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.one("[data-likelihood=low]").click()
        left = [case["transaction_id"] for case in self.report()["cases"] if case["likelihood"] == "low"]
        self.one("button.copy-commands").click()
        self.wait(lambda: f"{len(left)} commands copied" in self.status(), "the page says how many it copied")
        copied = self.browser.execute_async_script(
            "const done = arguments[0]; navigator.clipboard.readText().then(done)").split("\n")
        self.assertEqual(len(copied), len(left))
        for line in copied:
            self.assertRegex(line, r'^iap-reconcile resolve \d+ --delivered --by "" --note ""$')

    def test_copies_ids(self):
        self.browser.execute_cdp_cmd(
            "Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.one("tr.case .disclose").click()
        button = self.one("tr.evidence .copy")
        wanted = self.report()["cases"][0]["transaction_id"]
        self.assertEqual(button.get_attribute("aria-label"), f"Copy {wanted}")
        button.click()
        self.wait(lambda: wanted in self.status(), "the page says that it copied")
        search = self.one("input[type=search]")
        search.send_keys(Keys.CONTROL, "v")
        self.assertEqual(search.get_attribute("value"), wanted)

    def test_says_so_where_nothing_can_be_copied(self):
        for button in ["tr.evidence .copy", "button.copy-commands"]:
            self.open()
            self.browser.execute_script(
                "navigator.clipboard.writeText = () => Promise.reject(); document.execCommand = () => false")
            self.one("tr.case .disclose").click()
            self.one(button).click()
            self.wait(lambda: "Nothing was copied" in self.status(), "the page says that it did not copy")
            self.assertEqual(self.one("tr.evidence .copy").text, "Copy")


class Address(PageTestCase):
    def test_follows_the_search(self):
        self.one("input[type=search]").send_keys("gems & co")
        self.wait(lambda: "q=gems+%26+co" in self.address, "the address holds the search")

    def test_holds_filters_and_gives_them_back(self):
        self.one("input[type=search]").send_keys("gems")
        self.one("[data-likelihood=medium]").click()
        Select(self.one("select[name=seen]")).select_by_value("old")
        self.one("[data-sort=price]").click()
        self.one("[data-sort=price]").click()
        self.one("tr.case .disclose").click()
        shown, address = self.shown(), self.address
        self.open(address.lstrip("#"))
        self.assertEqual(self.shown(), shown)
        self.assertEqual(self.one("input[type=search]").get_attribute("value"), "gems")
        self.assertEqual(self.one("select[name=seen]").get_attribute("value"), "old")
        self.assertEqual(self.one("th:has([data-sort=price])").get_attribute("aria-sort"), "descending")
        self.assertEqual(len(self.all("tr.evidence")), 1)

    def test_takes_no_harm_from_nonsense(self):
        self.open("likelihood=x&reason=y&age=z&sort=constructor&seen=1&lang=toString&open=%22")
        self.assertEqual(self.status(), "450 cases")

    def test_filters_by_nothing_that_no_filter_shows(self):
        offered = {option.get_attribute("value") for option in Select(self.one("select[name=reason]")).options}
        settings = json.loads(self.one("#settings").get_attribute("textContent"))
        elsewhere = [reason for reason in settings["reasons"] if reason not in offered]
        for address in ["product=gone", "app=gone", *(f"reason={reason}" for reason in elsewhere[:1])]:
            self.open(address)
            self.assertEqual(self.status(), "450 cases", address)

    def test_follows_a_change(self):
        self.browser.execute_script("location.hash = 'likelihood=low'")
        self.wait(lambda: self.status() == "75 of 450 cases", "the filter of the address holds")


class Languages(PageTestCase):
    def test_switches_everything(self):
        self.one("[data-set-language=zh]").click()
        self.assertEqual(self.one("html").get_attribute("lang"), "zh-Hans")
        self.assertEqual(self.browser.title, "2026年9月21日 漏单报告")
        self.assertEqual(self.one("h1").text, "2026年9月21日 漏单报告")
        self.assertIn("共 450", self.one("#pager").text)
        self.assertEqual(self.one("[data-sort=user]").text, "用户")
        self.assertIn("年", self.one("tr.case time").text)
        text = self.one("main").text
        for english in ["Likely", "Receipts", "Deliver", "ago", "not delivered"]:
            self.assertNotIn(english, text)
        self.assertIn("lang=zh", self.address)
        self.one("[data-set-language=en]").click()
        self.assertEqual(self.browser.title, "Lost orders, 21 Sep 2026")
        self.assertNotIn("lang", self.address)

    def test_by_the_address(self):
        self.open("lang=zh&likelihood=low")
        self.assertEqual(self.status(), "450 笔中的 75 笔")
        self.assertTrue(self.one("header a[href*=index]").get_attribute("href").endswith("#lang=zh"))


class Chinese(PageTestCase):
    sample = "chinese"

    def test_opens_in_the_configured_language(self):
        self.assertEqual(self.one("html").get_attribute("lang"), "zh-Hans")
        self.assertEqual(self.browser.title, "2026年9月21日 漏单报告")
        self.assertEqual(self.status(), "20 笔")


class Keyboard(PageTestCase):
    def active(self):
        return self.browser.switch_to.active_element

    def press(self, key):
        self.active().send_keys(key)

    def test_from_the_top_to_the_evidence(self):
        self.one("body").send_keys(Keys.TAB)
        self.assertEqual(self.active().get_attribute("class"), "skip")
        self.press(Keys.ENTER)
        self.assertEqual(self.active().get_attribute("id"), "cases-heading")
        self.press(Keys.TAB)
        self.assertEqual(self.active().get_attribute("name"), "q")
        self.press(Keys.TAB)
        self.press(Keys.SPACE)
        self.assertIn("likelihood=high", self.address)
        for _ in range(60):
            self.press(Keys.TAB)
            if "disclose" in (self.active().get_attribute("class") or ""):
                break
        self.press(Keys.ENTER)
        self.assertEqual(self.active().get_attribute("aria-expanded"), "true")
        self.press(Keys.TAB)
        self.assertIn("copy", self.active().get_attribute("class"))

    def test_sorting_keeps_the_focus(self):
        self.one("[data-sort=price]").send_keys(Keys.ENTER)
        self.assertEqual(self.active().get_attribute("data-sort"), "price")

    def test_whatever_has_the_focus_shows_it(self):
        self.one("body").send_keys(Keys.TAB)
        for _ in range(15):
            outline = self.active().value_of_css_property("outline-style")
            self.assertNotEqual(outline, "none", self.active().get_attribute("outerHTML")[:200])
            self.press(Keys.TAB)

    def test_every_control_has_a_name(self):
        self.one("tr.case .disclose").click()
        for control in self.all("button, input, select, a[href], [role=group], [role=search]"):
            if control.is_displayed() and control.aria_role not in ["search"]:
                self.assertTrue(control.accessible_name.strip(), control.get_attribute("outerHTML")[:200])


class Screen(PageTestCase):
    CONTRAST = """
        const channel = value => (value /= 255) <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
        const parse = color => color.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
        const ground = element => {
            for (; element !== null; element = element.parentElement) {
                const [r, g, b, a] = parse(getComputedStyle(element).backgroundColor);
                if (a === undefined || a > 0) return [r, g, b];
            }
            return [255, 255, 255];
        };
        const poor = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const element = walker.currentNode.parentElement;
            if (walker.currentNode.textContent.trim() === '' || !element.checkVisibility()) continue;
            if (element.closest('script, style, svg, :disabled, .unseen') !== null) continue;
            const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
            const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
            if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${element.outerHTML.slice(0, 100)}`);
        }
        return [...new Set(poor)];
    """

    def tearDown(self):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self.browser.set_window_size(1400, 1200)
        super().tearDown()

    def emulate(self, media="", **features):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media,
            "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})

    def test_text_stands_out_in_light_and_dark(self):
        grounds = set()
        for scheme in ["light", "dark"]:
            self.emulate(prefers_color_scheme=scheme)
            self.open()
            self.one("tr.case .disclose").click()
            for disclose in self.all("tr.customer .disclose")[:1]:
                disclose.click()
            for name in ["high", "medium", "low"]:
                self.one(f"[data-likelihood={name}]").click()
            self.assertEqual(self.browser.execute_script(self.CONTRAST), [], scheme)
            grounds.add(self.one("body").value_of_css_property("background-color"))
        self.assertEqual(len(grounds), 2)

    def test_prints_without_controls(self):
        self.emulate(media="print")
        for selector in ["#tools .tools", ".sections", "#pager", ".languages", ".skip"]:
            self.assertFalse(self.one(selector).is_displayed(), selector)
        self.assertTrue(self.one("#cases-table").is_displayed())
        self.assertEqual(self.one("body").value_of_css_property("background-color"), "rgba(255, 255, 255, 1)")

    def test_fits_a_narrow_screen(self):
        self.browser.set_window_size(500, 900)
        wider = self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
        self.assertLessEqual(wider, 0)
        self.assertEqual(self.one("#cases-table tr.case").value_of_css_property("display"), "block")
        # A sentence that is made of pieces stays one text.
        self.assertEqual(
            self.one("#cases-table tr.case td:last-child").value_of_css_property("display"), "block")

    def test_a_long_product_id_fits_where_the_header_stays_in_sight(self):
        self.browser.execute_script(
            "for (const id of document.querySelectorAll('#cases-table tr.case td:nth-child(4) code'))"
            " id.textContent = 'com.example.reader.premium.monthly.with.a.trial'")
        for width in [1280, 1300, 1408]:
            self.browser.set_window_size(width, 900)
            wider = self.browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
            self.assertLessEqual(wider, 0, width)

    def test_what_to_do_needs_no_scrolling(self):
        self.browser.execute_script("""
            for (const id of document.querySelectorAll('#cases-table tr.case td:nth-child(4) code')) {
                id.innerHTML = 'com.<wbr>example.<wbr>reader.<wbr>premium.<wbr>monthly.<wbr>introductory';
            }
        """)
        for width in [500, 768, 1024, 1100, 1200, 1280, 1408]:
            self.browser.set_window_size(width, 900)
            hidden = self.browser.execute_script(
                "const box = document.querySelector('#cases-table .scroll'); return box.scrollWidth - box.clientWidth")
            self.assertLessEqual(hidden, 0, width)

    # The texts that end a line within an id, but not behind a dot or underscore.
    BROKEN_WORDS = """
        const ends = new Set();
        for (const id of document.querySelectorAll("#cases-table tr.case td:nth-child(4) code")) {
            let before = null;
            for (const part of [...id.childNodes].filter(node => node.nodeType === Node.TEXT_NODE)) {
                const range = document.createRange();
                range.selectNodeContents(part);
                const tops = [...range.getClientRects()].map(box => Math.round(box.top));
                if (new Set(tops).size > 1) ends.add(part.data);
                if (before !== null && before.top !== tops[0] && !/[._]$/.test(before.text)) ends.add(before.text);
                before = { top: tops.at(-1), text: part.data };
            }
        }
        return [...ends];
        """

    def test_a_product_id_is_broken_between_its_words(self):
        code = "#cases-table tr.case td:nth-child(4) code"
        self.assertRegex(self.one(code).get_attribute("innerHTML"), r"^\w+\.<wbr>\w+$")
        self.browser.execute_script(
            "for (const id of document.querySelectorAll(arguments[0]))"
            " id.innerHTML = 'com.<wbr>example.<wbr>reader.<wbr>premium_<wbr>monthly.<wbr>with.<wbr>a.<wbr>trial'",
            code)
        for width in [1280, 1300, 1408]:
            self.browser.set_window_size(width, 900)
            self.assertEqual(self.browser.execute_script(self.BROKEN_WORDS), [], width)
            self.assertGreater(self.one(code).size["height"], 25, width)


class CustomersOnScreen(Screen):
    sample = "customers"


class Many(PageTestCase):
    sample = "many"

    def test_holds_fifty_thousand_cases_and_leads_to_the_rest(self):
        self.assertIn("50,000", self.status())
        self.assertEqual(self.one(".hero").text, "60,000")
        self.assertLess((self.folder / "index.html").stat().st_size, 15_000_000)
        cases = [case["transaction_id"] for case in self.report()["cases"]]
        self.one("input[type=search]").send_keys(cases[49_999])
        self.assertEqual(self.shown(), [cases[49_999]])
        self.one(".ways a").click()
        self.assertIn("10,000", self.status())
        self.assertEqual(self.shown(), cases[50_000:50_000 + ROWS])


class Nothing(PageTestCase):
    sample = "none"

    def test_says_so(self):
        self.assertIn("No likely lost order", self.one("main").text)
        self.assertEqual(self.all("section.patterns"), [])
        self.assertEqual(self.one(".hero").text, "0")
        self.one("[data-set-language=zh]").click()
        self.assertIn("没有疑似漏单", self.one("main").text)


class One(PageTestCase):
    sample = "one"

    def test_one_is_spoken_of_as_one(self):
        self.assertEqual(self.status(), "1 case")
        self.assertEqual(self.one(".lost h2").text.split(), ["1", "likely", "lost", "order"])
        self.one(".copy-commands").click()
        self.wait(lambda: self.status() == "1 command copied", "the page says how many it copied")
        self.one("input[type=search]").send_keys("nothing like it")
        self.assertEqual(self.status(), "0 of 1 case")


class CustomersWithoutScript(PageTestCase):
    sample = "customers"
    script = False

    def test_a_heading_stands_above_the_first_of_many(self):
        rows = self.all("#cases-table tbody tr")
        place = next(place for place, row in enumerate(rows) if " of user-7" in row.text)
        self.assertIn("customer", rows[place].get_attribute("class"))
        members = rows[place + 1:place + 7]
        self.assertTrue(all("member" in row.get_attribute("class") for row in members))
        self.assertIn("more of user-7, which lost-orders.xlsx holds", members[-1].text)
        self.assertNotIn("member", rows[place + 7].get_attribute("class") or "")


class WithoutScript(PageTestCase):
    script = False

    def test_the_first_cases_stand_in_a_plain_table(self):
        rows = self.all("#cases-table tbody tr")
        self.assertEqual(len(rows), 200)
        cases = self.report()["cases"]
        for text in [cases[0]["transaction_id"], "Wait: the app's server is to deliver it to " + cases[0]["owner"]]:
            self.assertIn(text, rows[0].text)
        place = next(n for n, case in enumerate(cases) if case["action"] == "deliver" and "redelivery" not in case)
        for text in [cases[place]["transaction_id"], "Deliver to " + cases[place]["owner"]]:
            self.assertIn(text, rows[place].text)
        self.assertIn("The first 200 of 450", self.one("#cases-table caption").text)
        self.assertFalse(self.one("#tools").is_displayed())
        self.assertFalse(self.one(".languages").is_displayed())
        self.assertTrue(self.one("noscript p").is_displayed())
