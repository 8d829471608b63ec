import Foundation
import Reconciliation

/// The words of a report in one language: everything that a reader sees and that no client sent.
protocol Wording: Sendable {
    var language: ReportLanguage { get }

    /// The text of a phrase; `{name}` stands for a value, `{name|case|cases}` for a word by that value.
    func text(of phrase: Phrase) -> String

    func name(of likelihood: Likelihood) -> String
    /// A reason in two or three words, for lists and filters.
    func name(of reason: Reason) -> String
    func sentence(_ reason: Reason) -> String
    func sentence(_ problem: ReceiptProblem) -> String
    func action(_ problem: ReceiptProblem) -> String
    func title(_ kind: Suspicion.Kind) -> String
    func name(of source: Source) -> String
    func name(of outcome: ClaimOutcome) -> String
    func name(of bracket: AgeBracket) -> String
    func name(of decision: DeskDecision) -> String

    func text(ofLabel label: EnquiryPhrase.Label) -> String
    func text(ofLine line: EnquiryPhrase.Line) -> String
    func text(ofVerdict verdict: EnquiryPhrase.Verdict) -> String
    func counted(_ number: Int, _ count: EnquiryCount) -> String
    func name(of evidence: Evidence) -> String
    func name(of type: ProductType) -> String
    /// The name of an event, by its kind in the audit trail, or of the way in which a case was closed.
    func name(ofEvent kind: String) -> String
    /// A detail of an event, by its key in the audit trail.
    func name(ofDetail key: String) -> String
    func sentence(_ cause: NotOwed.Cause) -> String
}

extension Wording {
    /// A phrase with its values.
    func callAsFunction(_ phrase: Phrase, _ values: [String: String] = [:]) -> String {
        let text = text(of: phrase)
        // Most have no values, and some are in every row of a spreadsheet.
        return text.utf8.contains(UInt8(ascii: "{")) ? Template(text).filled(values) : text
    }

    /// The text of a phrase of an enquiry; `{name}` stands for a value.
    func text(ofEnquiry phrase: EnquiryPhrase) -> String {
        switch phrase {
        case .label(let label): text(ofLabel: label)
        case .line(let line): text(ofLine: line)
        case .verdict(let verdict): text(ofVerdict: verdict)
        }
    }

    /// A phrase of a page with its values.
    func html(_ phrase: Phrase, _ values: [String: HTML] = [:]) -> HTML {
        Template(text(of: phrase)).filled(values)
    }

    /// What to do about a case, with its users and orders.
    func action(_ assessment: Assessment, redelivery: OpenRedelivery?) -> String {
        self(Advice(assessment, redelivery: redelivery))
    }

    /// An age in the largest unit that is precise enough.
    func age(_ seconds: TimeInterval) -> String {
        let hours = Int(max(0, seconds) / 3600)
        return switch hours {
        case ..<1: self(.underAnHour)
        case 1: self(.oneHour)
        case ..<48: self(.hours, ["n": String(hours)])
        default: self(.days, ["n": String(hours / 24)])
        }
    }
}

/// What support staff should do about a case: a sentence, and the values to fill in.
struct Advice: Sentence {
    let phrase: Phrase
    let values: [String: String]

    /// Reasons with nothing left to deliver: their time is over, or, for a trial, nothing was paid.
    private static let isOver: [Reason] = [.accessGap, .grantedLate, .trialOnly]

    init(_ assessment: Assessment, redelivery: OpenRedelivery?) {
        switch (assessment.action, assessment.owner) {
        case (_, .user(let user)) where [redelivery?.userID].compactMap(\.self).containsExactly(user):
            (phrase, values) = (.redeliver, ["user": user])
        case (.deliver, .user(let user)) where assessment.reasons.contains(where: Self.isOver.contains):
            (phrase, values) = (.makeUp, ["user": user])
        case (.deliver, .user(let user)) where assessment.orderIDs.count == 1:
            (phrase, values) = (.deliverForOrder, ["user": user, "order": assessment.orderIDs[0]])
        case (.deliver, .user(let user)):
            (phrase, values) = (.deliver, ["user": user])
        case (.contact, _) where !assessment.usersToAsk.isEmpty:
            (phrase, values) = (.askUsers, ["users": assessment.usersToAsk.prefix(5).joined(separator: ", ")])
        case (.deliver, _), (.contact, _):
            (phrase, values) = (.findBuyer, [:])
        case (.lookOut, _):
            (phrase, values) = (.lookOut, [:])
        case (.wait, _):
            (phrase, values) = (.wait, [:])
        case (.investigate, _):
            (phrase, values) = (.investigate, [:])
        }
    }
}
