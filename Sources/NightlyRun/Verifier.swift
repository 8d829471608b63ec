import AppStore
import Foundation
import Ledger
import Reconciliation

/// The verify stage: asks Apple about each payload of a batch once, however many receipts hold it.
struct Verifier: Sendable {
    /// A payload's receipts and what verification said of them.
    struct Verified: Sendable {
        let group: PayloadGroup
        let verdict: ReceiptVerdict
    }

    private let apps: [String: AppSettings]
    private let client: VerifyReceiptClient
    private let stop: StopSignal
    private let now: Date

    init(settings: JobSettings, client: VerifyReceiptClient, stop: StopSignal, now: Date) {
        self.apps = Dictionary(
            settings.apps.map { ($0.app.bundleID.text, $0) }, uniquingKeysWith: { first, _ in first })
        self.client = client
        self.stop = stop
        self.now = now
    }

    /// Whether Apple counts as down, so that nothing more is sent tonight.
    var isAppleDown: Bool { client.isCircuitOpen }

    /// Verifies a batch. When Apple went down meanwhile, what failed for that reason counts as not tried: those
    /// receipts stay as they were, due at once.
    func verify(_ batch: InboxBatch) async -> [Verified] {
        let verified = await stop.cancelling {
            await withTaskGroup(of: (Int, ReceiptVerdict).self) { tasks in
                for (index, group) in batch.groups.enumerated() {
                    tasks.addTask { (index, await self.verdict(on: group)) }
                }
                var verdicts = [ReceiptVerdict](repeating: .notTried, count: batch.groups.count)
                for await (index, verdict) in tasks { verdicts[index] = verdict }
                return zip(batch.groups, verdicts).map(Verified.init)
            }
        }
        guard isAppleDown else { return verified }
        return verified.map { $0.verdict.isForWantOfApple ? Verified(group: $0.group, verdict: .notTried) : $0 }
    }

    private func verdict(on group: PayloadGroup) async -> ReceiptVerdict {
        guard let app = apps[group.bundleID] else {
            return .problem(.unknownApp, "no section [app \(group.bundleID)] in the configuration")
        }
        let payload = group.payload.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !payload.isEmpty else {
            return .problem(.empty, "the client uploaded nothing")
        }
        do {
            return ReceiptVerdict(
                try await client.verify(receiptData: payload, sharedSecret: app.sharedSecret?.plainText), now: now)
        } catch {
            return .notTried
        }
    }
}

extension ReceiptVerdict {
    /// Whether Apple could not be reached or asked to try again: in an outage no fault of the receipt.
    fileprivate var isForWantOfApple: Bool {
        if case .problem(.appleUnreachable, _) = self { return true }
        if case .problem(.tryAgain, _) = self { return true }
        return false
    }
}

extension VerifyReceiptClient {
    /// The client of a run.
    init(_ settings: AppleSettings) throws(JobError) {
        do {
            try self.init(
                settings: VerifyReceiptSettings(settings), connectTimeout: settings.connectTimeout,
                certificateAuthorities: settings.certificateAuthorities)
        } catch {
            throw .configuration("The connection to Apple can't be set up: \(error)")
        }
    }
}

extension VerifyReceiptSettings {
    fileprivate init(_ settings: AppleSettings) {
        self.init()
        production = settings.verifyReceiptProduction
        sandbox = settings.verifyReceiptSandbox
        timeout = settings.timeout
        concurrency = settings.concurrency
        requestsPerSecond = settings.requestsPerSecond
        retries.attempts = settings.attempts
    }
}
