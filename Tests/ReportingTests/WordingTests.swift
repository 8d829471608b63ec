import Foundation
import Reconciliation
@testable import Reporting
import TestSupport
import Testing

@Suite struct WordingTests {
    @Test(arguments: Phrase.allCases)
    func aPhraseHasTheSameValuesInEveryLanguage(phrase: Phrase) {
        let values = ReportLanguage.allCases.map { language in
            let pieces = Template(language.wording.text(of: phrase)).pieces
            return Set(pieces.filter { if case .value = $0 { true } else { false } })
        }
        #expect(values.allSatisfy { $0 == values[0] })
        #expect(ReportLanguage.allCases.allSatisfy { !$0.wording.text(of: phrase).isEmpty })
    }

    @Test(arguments: EnquiryPhrase.allCases)
    func aPhraseOfAnEnquiryHasTheSameValuesInEveryLanguage(phrase: EnquiryPhrase) {
        let values = ReportLanguage.allCases.map { language in
            let pieces = Template(language.wording.text(ofEnquiry: phrase)).pieces
            return Set(pieces.filter { if case .value = $0 { true } else { false } })
        }
        #expect(values.allSatisfy { $0 == values[0] })
        #expect(ReportLanguage.allCases.allSatisfy { !$0.wording.text(ofEnquiry: phrase).isEmpty })
    }

    @Test(arguments: EnquiryCount.allCases)
    func whatIsCountedTellsItsNumber(count: EnquiryCount) {
        let words = ReportLanguage.simplifiedChinese.wording
        for number in [0, 1, 7] { #expect(words.counted(number, count).hasPrefix("\(number) ")) }
        let english = ReportLanguage.english.wording
        #expect(english.counted(0, count).hasPrefix("no ") && english.counted(1, count).hasPrefix("1 "))
        #expect(english.counted(7, count).hasPrefix("7 ") && english.counted(7, count) != english.counted(1, count))
    }

    /// The names of the audit trail that a purchase may have: of moves, of the desk's words, of cases.
    @Test(arguments: [
        "claimed", "resolved", "imported", "withdrawn", "refunded", "refund_reversed", "released", "reopened",
        "corrected", "entitled", "revoked", "adopted", "noted", "taken", "freed", "redelivery_ordered",
        "redelivered", "case_opened", "case_changed", "case_reopened", "case_withdrawn", "delivered", "dismissed",
    ])
    func everythingThatHappensToAPurchaseHasAChineseName(kind: String) {
        let name = SimplifiedChinese().name(ofEvent: kind)
        #expect(name.unicodeScalars.contains { $0.properties.isIdeographic })
        #expect(English().name(ofEvent: kind) == kind.replacing("_", with: " "))
    }

    @Test func everyKindOfMoveHasAChineseName() throws {
        let log = try String(
            contentsOf: PackageRoot.folder.appending(path: "sql/migrations/0001_ledger/03_log.sql"), encoding: .utf8)
        let check = try #require(log.firstMatch(of: /CHECK \(kind IN \(([^)]*)\)\)/))
        let kinds = check.1.matches(of: /'(\w+)'/).map { String($0.1) }
        #expect(kinds.contains("claimed"))
        for kind in kinds {
            let name = SimplifiedChinese().name(ofEvent: kind)
            #expect(name.unicodeScalars.contains { $0.properties.isIdeographic }, "\(kind)")
        }
    }

    /// The page holds the words of every language; its style hides those of all but one.
    @Test func thePageHidesTheLanguagesThatAreNotRead() {
        for read in ReportLanguage.allCases {
            for other in ReportLanguage.allCases where other != read {
                #expect(
                    PageAssets.style.contains(
                        "html[data-language=\"\(read.rawValue)\"] span[lang=\"\(other.tag)\"]"))
            }
        }
    }

    @Test func aValueIsPutInOnceAndAsItIs() {
        let template = Template("{user} wants {order}")
        #expect(template.filled(["user": "{order}", "order": "o-1"]) == "{order} wants o-1")
        #expect(Template("{ open").filled([:] as [String: String]) == "{ open")
        let html = template.filled(["user": HTML.foreign("<b>"), "order": ""] as [String: HTML])
        #expect(html.text == "<bdi>&lt;b&gt;</bdi> wants ")
    }

    @Test func whatIsOneIsSpokenOfAsOne() {
        let template = Template("{n} of {total} {total|case|cases}")
        #expect(template.filled(["n": "1", "total": "1"]) == "1 of 1 case")
        #expect(template.filled(["n": "1", "total": "2"] as [String: HTML]).text == "1 of 2 cases")
        #expect(Template("{n|case|cases}").filled(["n": "1"] as [String: HTML]).text == "case")
        let reader = Reader(.english, timeZone: .gmt)
        let dry = HearingText(phrase: .drySpell, values: ["app": "a", "time": "t", "n": "1"])
        #expect(reader.words.html(dry).text.contains("<bdi>1</bdi> purchase was delivered since"))
        #expect(English()(.shown, ["total": "1"]) == "1 case" && English()(.shown, ["total": "0"]) == "0 cases")
        #expect(English()(.copiedCommands, ["n": "1"]) == "1 command copied")
        #expect(1.counted("entry", "entries") == "1 entry" && 0.counted("receipt") == "0 receipts")
    }

    /// With `verification = local` Apple is not asked: the detail beside the sentence says who found it so.
    @Test(arguments: ReportLanguage.allCases)
    func whatASignatureAloneMayTellIsNotCalledApplesWord(language: ReportLanguage) {
        #expect(!language.wording.sentence(ReceiptProblem.malformed).contains("Apple"))
        #expect(English().sentence(ReceiptProblem.notGenuine).contains("signature"))
    }

    /// Who delivers by hand meanwhile delivers twice.
    @Test func whatTheAppsServerIsToDeliverIsLeftToIt() {
        let assessment = Assessment(
            likelihood: .high, reasons: [.neverClaimed], owner: .user("anna"), orderIDs: ["o-1"], action: .deliver)
        func redelivery(to user: String) -> OpenRedelivery {
            OpenRedelivery(userID: user, orderedAt: Sample.now, orderedBy: "iap-reconcile", tries: 0, takenAt: nil)
        }
        #expect(
            English().action(assessment, redelivery: redelivery(to: "anna"))
                == "Wait: the app's server is to deliver it to anna by itself.")
        // It will be ended, for the owner is another by now.
        #expect(
            English().action(assessment, redelivery: redelivery(to: "bob")) == "Deliver to anna for order o-1.")
    }

    /// Nobody is named as the owner of what is certainly lost and uncertain whose; whom to ask is said all the same.
    @Test func whoeverMayHaveBoughtItIsAsked() throws {
        let candidates = [OwnerCandidate(userID: "anna", evidence: [.account])]
        let unnamed = Assessment(
            likelihood: .high, reasons: [.askedApple, .ownerUncertain], owner: .unknown, candidates: candidates,
            action: .contact)
        #expect(
            English().action(unnamed, redelivery: nil) == "Ask who bought it before delivering: anna.")
        let unknown = Assessment(likelihood: .high, reasons: [.askedApple], owner: .unknown, action: .contact)
        #expect(!English().action(unknown, redelivery: nil).contains("anna"))
        var data = CaseData()
        var found = Sample.lostOrder(id: "1")
        found.assessment = unnamed
        found.sightings = []
        let line = try JSONSerialization.jsonObject(with: Data(data.line(found).utf8)) as? [Any]
        let row = Dictionary(uniqueKeysWithValues: zip(CaseData.fields, try #require(line)))
        #expect(row["users"] as? [String] == ["anna"] && row["owners"] as? Int == 0 && row["asked"] as? Int == 1)
    }

    @Test(arguments: [
        (Money(milliunits: 1_234_560, currency: CurrencyCode("USD")!), "US$1,234.56", "US$1,234.56"),
        (Money(milliunits: 12_000, currency: CurrencyCode("CNY")!), "CN¥12.00", "¥12.00"),
        (Money(milliunits: 230_000, currency: CurrencyCode("JPY")!), "JP¥230", "JP¥230"),
        (Money(milliunits: 4_995, currency: CurrencyCode("USD")!), "US$4.995", "US$4.995"),
        (Money(milliunits: -5_000, currency: CurrencyCode("EUR")!), "-€5.00", "-€5.00"),
    ])
    func writesMoneyAsItsReadersDo(money: Money, english: String, chinese: String) {
        #expect(Reader(.english, timeZone: .gmt).money(money) == english)
        #expect(Reader(.simplifiedChinese, timeZone: .gmt).money(money) == chinese)
    }

    @Test(arguments: [
        (AgeBracket.upToOne, 0, 1), (.upToSeven, 2, 7), (.upToThirty, 8, 30), (.upToNinety, 31, 90), (.older, 91, 999),
    ])
    func putsAnAgeIntoFinancesBracket(bracket: AgeBracket, firstDay: Int, lastDay: Int) {
        let (day, noon) = (86_400.0, Date(timeIntervalSince1970: 86_400 * 20_000.5))
        for moment in [noon - 43_200, noon, noon + 43_199] {
            #expect(AgeBracket(purchasedAt: moment - Double(firstDay) * day, now: noon) == bracket)
            #expect(AgeBracket(purchasedAt: moment - Double(lastDay) * day, now: noon) == bracket)
        }
    }

    @Test func writesJSONThatNoPageCanMistake() throws {
        var line = JSONLine()
        line.add("</script>\"\\\n\u{1}漏")
        line.add(7)
        line.add(nil as Int?)
        line.add(true)
        line.add(each: ["a", "b"]) { $0.add($1) }
        #expect(!line.closed.contains("<"))
        let values = try #require(try JSONSerialization.jsonObject(with: Data(line.closed.utf8)) as? [Any])
        #expect(values[0] as? String == "</script>\"\\\n\u{1}漏")
        #expect(values[1] as? Int == 7)
        #expect(values[2] is NSNull)
        #expect(values[4] as? [String] == ["a", "b"])
    }
}
