import Foundation
import Reconciliation

/// What the report says of an app that is not heard as it should be.
struct HearingText: Sentence {
    let phrase: Phrase
    let values: [String: String]

    /// Everything that is wrong, the gravest first.
    static func all(_ hearing: HearingFigures, now: Date, moment: (Date) -> String) -> [HearingText] {
        let app = hearing.bundleID.text
        var texts: [HearingText] = []
        if let problem = hearing.problem {
            texts.append(HearingText(phrase: .hearingProblem, values: ["app": app, "problem": problem]))
        }
        if hearing.isDrySpell(at: now), let last = hearing.lastSignedAt {
            texts.append(
                HearingText(
                    phrase: .drySpell,
                    values: ["app": app, "time": moment(last), "n": String(hearing.deliveredSince)]))
        }
        if hearing.unsent > 0 {
            texts.append(
                HearingText(
                    phrase: .noticesUnsent,
                    values: ["app": app, "n": String(hearing.unsent), "what": hearing.whyUnsent ?? "—"]))
        }
        return texts
            + hearing.notTaken.map { notTaken in
                HearingText(
                    phrase: notTaken.heardBy == .history ? .historyNotTaken : .noticesNotTaken,
                    values: ["app": app, "n": String(notTaken.notices), "what": notTaken.problem])
            }
    }
}
