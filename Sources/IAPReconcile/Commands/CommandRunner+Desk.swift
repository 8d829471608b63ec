import Commands
import Foundation
import Job
import Reconciliation
import Reporting

/// What the support desk can do about a case without ending it.
extension CommandRunner {
    /// Takes into the ledger what Apple knows and no receipt brought. Ends with 65 if none of it is owed.
    func adopt(_ adoption: Adoption) async throws -> ExitCode {
        let results = try await supportDesk.adopt(adoption) { configuration.settings }
        for result in results {
            StandardOutput.write("\(result.key.id) \(Self.text(result.outcome, adoption))\n")
        }
        return results.contains(where: \.outcome.isOwed) ? .done : .dataError
    }

    private static func text(_ outcome: Adoption.Result.Outcome, _ adoption: Adoption) -> String {
        switch outcome {
        case .white: "is owed to \(adoption.userID); deliver it, and say so with resolve --delivered"
        case .alreadyWhite: "was owed already"
        case .alreadyDelivered: "is delivered already"
        case .excluded: "is not owed, as an earlier night found; see check"
        case .refunded: "was refunded by Apple: nothing is owed"
        case .sandbox: "was made in the other environment than the app's, where nobody pays"
        }
    }

    /// Notes that somebody is working on a case. Ends with 65 if somebody else is, or no case is open.
    func take(_ subject: DeskSubject, by who: String, isFreeing: Bool) async throws -> ExitCode {
        let id = subject.transactionID
        switch try await supportDesk.take(subject, by: who, isFreeing: isFreeing) {
        case .taken:
            StandardOutput.write("\(id) is taken by \(who), for a day\n")
            return .done
        case .freed:
            StandardOutput.write("\(id) is free\n")
            return .done
        case .takenAlready(let other, let since):
            let zone = configuration.settings.timeZone
            let moment = "\(Formats(timeZone: zone).local(since)) \(zone.identifier)"
            return unchanged("\(other) is on \(id) since \(moment); --free takes it away")
        case .noOpenCase: return unchanged("\(id) has no open case; see iap-reconcile check \(id.shellWord)")
        case .ambiguous: return unchanged(Self.ambiguous(id))
        }
    }

    /// Writes a comment on a transaction. Ends with 65 if nobody knows it.
    func comment(on subject: DeskSubject, _ text: String, by who: String) async throws -> ExitCode {
        let id = subject.transactionID
        switch try await supportDesk.comment(on: subject, text, by: who) {
        case .noted:
            StandardOutput.write("\(id) has the comment\n")
            return .done
        case .notVerified: return unchanged(Self.notVerified(id, subject.bundleID, subject.environment))
        case .ambiguous: return unchanged(Self.ambiguous(id))
        }
    }

    private func unchanged(_ why: String) -> ExitCode {
        console.sayUnchanged(why)
        return .dataError
    }

    /// That nothing is known by an id, in the app and environment that were named.
    static func notVerified(_ id: TransactionID, _ bundleID: BundleID?, _ environment: Environment?) -> String {
        let named = [bundleID?.text, environment?.rawValue].compactMap(\.self)
        let place = named.isEmpty ? "" : " in \(named.joined(separator: " "))"
        return "no verified transaction has the id \(id)\(place); see iap-reconcile check \(id.shellWord)"
    }

    static func ambiguous(_ id: TransactionID) -> String {
        "\(id) is known in several apps or environments; say which with --app and --environment"
    }
}
