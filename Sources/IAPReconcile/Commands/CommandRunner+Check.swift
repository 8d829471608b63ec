import Commands
import Foundation
import Job
import Reconciliation
import Reporting

extension CommandRunner {
    /// Says everything that is known about an id, the verdict last. Ends with 0 if anything is known.
    func check(_ id: String, asJSON: Bool) async throws -> ExitCode {
        let enquiry = try await supportDesk.check(id) {
            // Only now, as a purchase that the ledger knows can be checked without a key of Apple's.
            try Configuration.read(invocation.configuration, secrets: .ofThisProcess).settings
        }
        StandardOutput.write(
            asJSON
                ? try EnquiryJSON.text(of: enquiry) + "\n"
                : EnquiryText(
                    timeZone: configuration.settings.timeZone, language: configuration.reportLanguage
                ).text(of: enquiry))
        return DeskVerdict(of: enquiry).isOfNothing ? .dataError : .done
    }

    /// Ends a case, or opens it again. If nothing is changed, ends with 65 and says why.
    func resolve(_ resolution: Resolution) async throws -> ExitCode {
        let outcome = try await supportDesk.carryOut(resolution)
        guard outcome == .done || outcome == .deliveredToNobody else {
            console.sayUnchanged(Self.reason(outcome, resolution))
            return .dataError
        }
        if outcome == .deliveredToNobody { console.log(LogEntry(.warning, Self.nobody(resolution.transactionID))) }
        StandardOutput.write("\(resolution.transactionID) \(Self.result(resolution.decision))\n")
        return .done
    }

    var supportDesk: SupportDesk { SupportDesk(settings: supportSettings) }

    /// The settings with the support desk's way to the database.
    var supportSettings: JobSettings {
        var settings = configuration.settings
        settings.database = configuration.supportDatabase ?? settings.database
        return settings
    }

    private static func result(_ decision: Resolution.Decision) -> String {
        switch decision {
        case .delivered: "is delivered"
        case .dismissed: "is dismissed: nothing is owed"
        case .refunded: "is refunded: nothing is owed"
        case .reopened: "is owed again, as it was before"
        case .redelivery: "is ordered: the app's server delivers it to its owner"
        }
    }

    private static func nobody(_ id: TransactionID) -> String {
        "no user is recorded for \(id), for none was named and no one owner is certain: an order that it paid counts "
            + "as not paid; if you know who got it, say --reopen, and then --delivered --user"
    }

    private static func reason(_ outcome: ResolutionOutcome, _ resolution: Resolution) -> String {
        let id = resolution.transactionID
        return switch outcome {
        case .done: "\(id) is done"
        case .deliveredToNobody: nobody(id)
        case .ambiguous: ambiguous(id)
        case .severalOwners(let users) where resolution.decision == .redelivery:
            "evidence speaks for \(users.joined(separator: " and for ")): deliver it by hand, and say --delivered --user"
        case .unchanged(.ownerUncertain):
            "it is not certain whose \(id) is: deliver it by hand, and say --delivered --user"
        case .severalOwners(let users):
            "evidence speaks for \(users.joined(separator: " and for ")); say with --user to whom it was delivered"
        case .unchanged(.unknownUser):
            "nobody has heard of the user “\(resolution.decision.recipient?.userID ?? "")”; if that is right, say so with "
                + "--unknown-user"
        case .unchanged(.alreadyDelivered) where resolution.decision == .reopened:
            "\(id) is delivered, and not by hand alone; see iap-reconcile check \(id.shellWord)"
        case .unchanged(.alreadyDelivered): "\(id) is delivered already; see iap-reconcile check \(id.shellWord)"
        case .unchanged(.alreadyWhite): "\(id) is owed already"
        case .unchanged(.excluded): "\(id) is not owed; see iap-reconcile check \(id.shellWord)"
        case .unchanged(.notVerified): notVerified(id, resolution.bundleID, resolution.environment)
        case .unchanged(.refunded): "Apple has refunded \(id) since, so it is not owed any more"
        }
    }
}
