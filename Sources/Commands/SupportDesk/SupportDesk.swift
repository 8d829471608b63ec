public import Foundation
public import Job
import Ledger
public import Reconciliation
import Verification

/// What the support desk asks and decides, outside of any run.
public struct SupportDesk: Sendable {
    private let settings: JobSettings
    private let now: Date

    /// - Parameter settings: its database is the one that the support desk may use.
    public init(settings: JobSettings, now: Date = Date()) {
        self.settings = settings
        self.now = now
    }

    /// Everything that is known about an id, or else about what it was before a spreadsheet's cell had it. Apple is asked
    /// only if the ledger alone can't answer.
    ///
    /// - Parameter apple: the settings with the apps' keys, read only if Apple is asked; what it throws is told as the
    ///   reason why Apple was not.
    public func check(
        _ id: String, askingApple apple: () throws -> JobSettings
    ) async throws(JobError) -> Enquiry {
        try await connected { session async throws(LedgerError) in
            var enquiry = try await session.lookUp(id)
            if DeskVerdict(of: enquiry).isOfNothing, let bare = PastedID.bare(id) {
                enquiry = try await session.lookUp(bare)
            }
            if let question = AppleQuestion(enquiry) {
                let word = await question.ask(apple)
                let told = Set(word.transactions.map(\.key.id)).subtracting(enquiry.transactions.map(\.key.id))
                if !told.isEmpty { enquiry = try await session.lookUp(enquiry.id, and: told.sorted()) }
                enquiry.apple = word
            }
            for index in enquiry.transactions.indices { grant(&enquiry.transactions[index]) }
            return enquiry
        }
    }

    /// Carries out a decision; the database writes down who took it and why.
    public func carryOut(_ resolution: Resolution) async throws(JobError) -> ResolutionOutcome {
        try await connected { session async throws(LedgerError) in
            try await session.carryOut(resolution)
        }
    }

    /// Takes a purchase without a receipt into the ledger, by what Apple says of it now.
    ///
    /// - Parameter apple: the settings with the apps' keys.
    /// - Throws: `JobError.notFound` if Apple knows no such purchase, or could not be asked.
    public func adopt(
        _ adoption: Adoption, askingApple apple: () throws -> JobSettings
    ) async throws(JobError) -> [Adoption.Result] {
        guard let question = AppleQuestion(id: adoption.id) else {
            throw .notFound("“\(adoption.id)” is neither a transaction's id nor that of an invoice of Apple's (M…).")
        }
        let answer = await question.ask(apple, for: adoption.bundleID)
        let found = answer.transactions
        guard !found.isEmpty else { throw .notFound(answer.whyNothing(adoption.id)) }
        return try await connected { session async throws(LedgerError) in
            var results: [Adoption.Result] = []
            for transaction in found {
                let app = settings.apps.map(\.app).first { $0.bundleID == transaction.key.bundleID }
                if let app, app.environment != transaction.key.environment {
                    results.append(Adoption.Result(key: transaction.key, outcome: .sandbox))
                } else {
                    results.append(try await session.adopt(transaction, adoption))
                }
            }
            return results
        }
    }

    /// Says that somebody is on a case, or that nobody is any more.
    public func take(
        _ subject: DeskSubject, by who: String, isFreeing: Bool
    ) async throws(JobError) -> TakingOutcome {
        try await connected { session async throws(LedgerError) in
            try await session.take(subject, by: who, isFreeing: isFreeing)
        }
    }

    /// Writes a comment on a transaction.
    public func comment(
        on subject: DeskSubject, _ text: String, by who: String
    ) async throws(JobError) -> CommentOutcome {
        try await connected { session async throws(LedgerError) in
            try await session.comment(on: subject, text, by: who)
        }
    }

    /// What the job's own role may not do, the support desk's may.
    static func explained(_ error: LedgerError) -> JobError {
        JobError(error, workingAs: .support)
    }

    private func connected<Value>(
        _ body: (LedgerSession) async throws(LedgerError) -> Value
    ) async throws(JobError) -> Value {
        try await withLedger(settings.ledger, explained: Self.explained, body)
    }

    /// Notes of a white transaction how long its client may still come for it.
    private func grant(_ known: inout KnownTransaction) {
        guard case .white(var owed) = known.place,
            let app = settings.apps.map(\.app).first(where: { $0.bundleID == known.key.bundleID })
        else { return }
        let end = known.purchasedAt + app.grace.seconds(for: known.productType)
        owed.graceEndsAt = end > now ? end : nil
        known.place = .white(owed)
    }
}
