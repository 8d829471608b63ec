import Importing
public import Job
import Ledger
import Reconciliation
import Verification

/// Takes notifications of Apple's from files, such as an app's server keeps: each is verified at once, and the next run
/// lets it change the ledger.
public struct NoticeIntake: Sendable {
    /// What became of a file's lines.
    public struct Summary: Sendable {
        public internal(set) var taken = 0
        public internal(set) var refusedCount = 0
        /// The first of the refused lines, and why: a file that is none of notifications has no others.
        public internal(set) var refused: [(line: Int, why: String)] = []
    }

    private let settings: JobSettings

    public init(settings: JobSettings) {
        self.settings = settings
    }

    /// - Parameters:
    ///   - file: `-` is standard input.
    ///   - mostNamed: how many refused lines are named; the others are only counted.
    /// - Throws: `ImportError` if the file can't be read; `JobError`; `CancellationError` if the stop was asked for.
    public func take(_ file: String, naming mostNamed: Int, stop: StopSignal) async throws -> Summary {
        let services: AppleServices
        do {
            services = try AppleServices(settings.apple, apps: settings.apps)
        } catch {
            throw JobError(error)
        }
        var lines = NoticeLines(try FileSource(file) { stop.isRequested })
        return try await withLedger(readingFiles: settings.ledger) { session in
            var summary = Summary()
            while let line = try lines.next() {
                switch verified(line.payload, services) {
                case .success(let (bundleID, payload)):
                    try await session.submit(notification: payload, of: bundleID)
                    summary.taken += 1
                case .failure(let flaw):
                    summary.refusedCount += 1
                    if summary.refusedCount <= mostNamed {
                        summary.refused.append((line.number, flaw.description))
                    }
                }
            }
            return summary
        }
    }

    /// The app that a notification is about, or why it can't be taken.
    private func verified(
        _ payload: String?, _ services: AppleServices
    ) -> Result<(BundleID, String), NoticeFlaw> {
        guard let payload else {
            return .failure(NoticeFlaw(text: "it is no notification: neither a JWS nor a signedPayload"))
        }
        var flaws: [NoticeFlaw] = []
        for app in settings.apps {
            switch services.notice(handedOn: payload, for: app) {
            case .success: return .success((app.app.bundleID, payload))
            case .failure(let flaw): flaws.append(flaw)
            }
        }
        // If it is of one of these apps and not right, it says nothing that it is not of the others.
        let flaw = flaws.first { !$0.isOfAnother } ?? flaws.last
        return .failure(flaw ?? NoticeFlaw(text: "no app is configured"))
    }
}
