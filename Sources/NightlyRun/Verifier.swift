import Foundation
import Job
import Ledger
import Reconciliation
import Verification

/// A payload's receipts and what verification said of them.
struct VerifiedGroup: Sendable {
    let group: PayloadGroup
    fileprivate(set) var judgement: AppVerifier.Judgement

    var verdict: ReceiptVerdict { judgement.verdict }
    var signature: OfflineSignature? { judgement.signature }
    var isOfNoForm: Bool { judgement.isOfNoForm }

    /// The same payload, if PostgreSQL does not take what it says.
    ///
    /// - Parameter why: PostgreSQL's words.
    func unrecorded(_ why: String) -> VerifiedGroup {
        var group = self
        group.judgement.verdict = .problem(.unreadableAnswer, "what it says can't be recorded: \(why)")
        return group
    }
}

/// The verify stage: each payload of a batch is verified once, however many receipts hold it.
struct Verifier: Sendable {
    private let apps: [String: AppVerifier]
    private let services: AppleServices
    private let stop: StopSignal

    init(_ context: RunContext) {
        let verifiers = context.services.verifiers(of: context.settings.apps, now: context.now)
        apps = Dictionary(
            verifiers.map { ($0.settings.app.bundleID.text, $0) }, uniquingKeysWith: { first, _ in first })
        services = context.services
        stop = context.stop
    }

    /// Whether Apple counts as down for all that was asked, so that nothing more is sent tonight.
    var isAppleDown: Bool { services.isDown }

    /// The apps for which Apple counts as down, and whether that is all that was asked about.
    var outage: Outage? {
        let apps = services.appsInOutage
        return apps.isEmpty ? nil : Outage(apps: apps, isWhole: services.isDown)
    }

    /// The apps about which Apple could not be asked any more.
    struct Outage {
        let apps: [BundleID]
        let isWhole: Bool

        var text: String {
            isWhole ? "Apple went down" : "Apple answered no more about \(apps.map(\.text).joined(separator: ", "))"
        }
    }

    /// Verifies a batch. When Apple went down meanwhile, what failed for that reason counts as not tried: those
    /// receipts stay as they were, due at once.
    func verify(_ batch: InboxBatch) async -> [VerifiedGroup] {
        var verified = await stop.cancelling {
            await withTaskGroup(of: (Int, AppVerifier.Judgement).self) { tasks in
                for (index, group) in batch.groups.enumerated() {
                    tasks.addTask { (index, await self.judgement(on: group)) }
                }
                var verified = batch.groups.map { VerifiedGroup(group: $0, judgement: .init(.notTried)) }
                for await (index, judgement) in tasks { verified[index].judgement = judgement }
                return verified
            }
        }
        let outage = Set(services.appsInOutage.map(\.text))
        for index in verified.indices
        where outage.contains(verified[index].group.bundleID) && verified[index].verdict.isForWantOfApple {
            verified[index].judgement.verdict = .notTried
        }
        return verified
    }

    private func judgement(on group: PayloadGroup) async -> AppVerifier.Judgement {
        guard let app = apps[group.bundleID] else {
            let problem = "no section [app \(group.bundleID)] in the configuration"
            return AppVerifier.Judgement(.problem(.unknownApp, problem))
        }
        let payload = group.payload.bare
        guard !payload.isEmpty else {
            return AppVerifier.Judgement(.problem(.empty, "the client uploaded nothing"))
        }
        do {
            return try await app.judge(payload, of: Set(group.receipts.compactMap(\.userID)).sorted())
        } catch {
            return AppVerifier.Judgement(.notTried)
        }
    }
}

extension String {
    /// Without the white space around it. Payloads have megabytes, and hardly ever any: only the ends are looked at.
    fileprivate var bare: String {
        let isPlain = [utf8.first, utf8.last].allSatisfy { byte in byte.map { (0x21...0x7E).contains($0) } ?? true }
        return isPlain ? self : trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

extension ReceiptVerdict {
    /// Whether Apple could not be reached or did not prove to be Apple: in an outage that is no fault of the receipt.
    /// What Apple answered to this one is its own, even in an outage. Otherwise uploads that Apple's server chokes on
    /// could have the night believe in an outage, and nothing would ever count against them.
    fileprivate var isForWantOfApple: Bool {
        guard case .problem(let problem, _) = self else { return false }
        return ReceiptProblem.forWantOfApple.contains(problem)
    }
}

extension ReceiptProblem {
    /// What every receipt meets while Apple is down.
    static let forWantOfApple: [ReceiptProblem] = [.appleUnreachable, .needsConfiguration]
}
