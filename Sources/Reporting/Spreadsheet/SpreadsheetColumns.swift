import Foundation
import Reconciliation

/// The headings and widths of the spreadsheet's columns.
struct SpreadsheetColumns {
    let words: any Wording
    let zone: TimeZone

    var cases: [Sheet.Column] {
        [
            column(.likelihood, 11), column(.user, 22), column(.transaction, 20), column(.customersCases, 24),
            column(.originalTransaction, 20), column(.app, 24), column(.environment, 12), column(.product, 20),
            column(.productName, 20), column(.quantity, 9), column(.price, 12), column(.currency, 9),
            column(.isListPrice, 10), column(.purchasedUTC, 19),
            Sheet.Column(title: words(.purchasedLocal, ["zone": zone.identifier]), width: 24),
            column(.ageInDays, 12), column(.reasons, 44), column(.whatToDo, 44), decision, column(.decisionNote, 30),
            column(.orders, 20),
            column(.device, 24), column(.verifiedBy, 24), column(.newInRun, 14), column(.periods, 12),
            column(.paidUntilUTC, 19), column(.entitledUntilUTC, 19), column(.pattern, 9), column(.caseMark, 44),
        ]
    }

    /// Empty, for a person to choose from; `iap-reconcile resolve --file` reads it back.
    private var decision: Sheet.Column {
        let choices = DeskDecision.allCases.map(words.name)
        return Sheet.Column(
            title: words(.decision), width: 14, choices: choices,
            hint: words(.decisionHint, ["words": choices.joined(separator: ", ")]))
    }

    var patterns: [Sheet.Column] {
        [
            column(.pattern, 9), column(.what, 60), column(.app, 24), column(.cases, 12), column(.customers, 11),
            column(.delivered, 11), column(.fromUTC, 19), column(.untilUTC, 19),
        ]
    }

    var receipts: [Sheet.Column] {
        [
            column(.receipt, 12), column(.user, 22), column(.app, 24), column(.order, 18), column(.transaction, 20),
            column(.uploadedUTC, 19), column(.reason, 44), column(.detail, 44), column(.nights, 12),
            column(.device, 24), column(.whatToDo, 44),
        ]
    }

    var suspicious: [Sheet.Column] {
        [
            column(.what, 24), column(.transaction, 20), column(.app, 24), column(.product, 20), column(.users, 40),
            column(.firstSeen, 19), column(.found, 44),
        ]
    }

    var sales: [Sheet.Column] {
        [
            column(.day, 12), column(.app, 24), column(.product, 20), column(.productName, 20), column(.country, 14),
            column(.unitsSold, 9), column(.unitsSeen, 9), column(.difference, 11), column(.differenceAround, 20),
            column(.refundsSold, 16), column(.refundsSeen, 14),
        ]
    }

    var totals: [Sheet.Column] {
        [
            column(.section, 24), column(.figure, 20), column(.transactions, 14), column(.units, 12),
            column(.hash, 20), column(.amount, 16),
        ]
    }

    private func column(_ phrase: Phrase, _ width: Double) -> Sheet.Column {
        Sheet.Column(title: words(phrase), width: width)
    }
}
