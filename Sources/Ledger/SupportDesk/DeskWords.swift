import Foundation
import PostgreSQL
public import Reconciliation

extension LedgerSession {
    /// Takes a purchase into the ledger by what Apple signed, for a user, on the support desk's word.
    public func adopt(
        _ transaction: ApplesTransaction, _ adoption: Adoption
    ) async throws(LedgerError) -> Adoption.Result {
        try await translating {
            let row = try await connection.only(
                """
                SELECT adopt(
                    \(transaction.key.bundleID.text), \(transaction.proof), \(adoption.userID), \(adoption.by),
                    \(adoption.note)) AS outcome
                """)
            return Adoption.Result(key: transaction.key, outcome: try row.word("outcome"))
        }
    }

    /// Says that somebody is on a case, or with `isFreeing` that nobody is any more.
    public func take(
        _ subject: DeskSubject, by who: String, isFreeing: Bool
    ) async throws(LedgerError) -> TakingOutcome {
        try await translating {
            do {
                let row = try await connection.only(
                    """
                    SELECT outcome, taken_by, taken_at
                    FROM take(
                        \(subject.transactionID.text), \(who), \(subject.bundleID?.text),
                        \(subject.environment?.rawValue), \(isFreeing))
                    """)
                return switch try row.decode("outcome", as: String.self) {
                case "taken": .taken
                case "freed": .freed
                case "taken_already":
                    .takenAlready(by: try row.decode("taken_by"), since: try row.decode("taken_at"))
                case "no_open_case": .noOpenCase
                case let word: throw row.unknown("“\(word)”", in: "outcome")
                }
            } catch let error as PostgreSQLError where error.sqlState == .cardinalityViolation {
                return .ambiguous
            }
        }
    }

    /// Writes a comment on a transaction.
    public func comment(
        on subject: DeskSubject, _ text: String, by who: String
    ) async throws(LedgerError) -> CommentOutcome {
        try await translating {
            do {
                let row = try await connection.only(
                    """
                    SELECT note(
                        transaction_id => \(subject.transactionID.text), note => \(text), who => \(who),
                        bundle_id => \(subject.bundleID?.text), environment => \(subject.environment?.rawValue)
                    ) AS outcome
                    """)
                return switch try row.decode("outcome", as: String.self) {
                case "noted": .noted
                case "not_verified": .notVerified
                case let word: throw row.unknown("“\(word)”", in: "outcome")
                }
            } catch let error as PostgreSQLError where error.sqlState == .cardinalityViolation {
                return .ambiguous
            }
        }
    }

    /// What apps' servers are to deliver of these by themselves: until it is delivered, not owed any more, given up, or
    /// was left for a day.
    func openRedeliveries(of ids: [String]) async throws -> [(key: TransactionKey, redelivery: OpenRedelivery)] {
        try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, user_id, ordered_at, ordered_by, tries, taken_at
            FROM iap.redeliveries AS ordered
            WHERE transaction_id = ANY (\(ids)) AND ended_at IS NULL
                AND NOT iap.is_given_up(ROW(ordered.*)::iap.redeliveries) AND NOT (\(Self.isLeft))
            """
        ).map { row in
            let redelivery = OpenRedelivery(
                userID: try row.decode("user_id"), orderedAt: try row.decode("ordered_at"),
                orderedBy: try row.decode("ordered_by"), tries: Int(try row.decode("tries", as: Int32.self)),
                takenAt: try row.decode("taken_at", as: Date?.self))
            return (try TransactionKey(row), redelivery)
        }
    }

    /// The cases of a page by the transactions that they tell of. The case of a subscription stands under its oldest
    /// period without access, and that may become another: what was said of it then is still of the case.
    private static func indices(of page: [ReportedCase]) -> [TransactionKey: Int] {
        var indices: [TransactionKey: Int] = [:]
        for (index, found) in page.enumerated() {
            for period in found.subscription?.periods ?? [] {
                indices[TransactionKey(id: period, bundleID: found.key.bundleID, environment: found.key.environment)] =
                    index
            }
            indices[found.key] = index
        }
        return indices
    }

    /// Who is on the open cases of a page, what the support desk wrote about them, and what is delivered without it:
    /// as it stands while the report is written, which may be long after its run.
    func addDeskWords(to page: inout [ReportedCase], at now: Date) async throws {
        let indices = Self.indices(of: page)
        let ids = indices.keys.map(\.id.text).sorted()
        let takings = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, taken_by, taken_at
            FROM iap.case_takings
            WHERE transaction_id = ANY (\(ids)) AND iap.taken_until(taken_at) > greatest(\(now), iap.present())
            """)
        let comments = try await connection.query(
            """
            SELECT transaction_id, bundle_id, environment, happened_at, actor, details ->> 'note' AS note
            FROM \(stored: .events)
            WHERE transaction_id = ANY (\(ids)) AND kind IN ('noted', 'adopted')
            ORDER BY event_id
            """)
        let redeliveries = try await openRedeliveries(of: ids)
        guard !takings.isEmpty || !comments.isEmpty || !redeliveries.isEmpty else { return }
        for row in takings {
            guard let index = indices[try TransactionKey(row)] else { continue }
            page[index].taking = CaseTaking(by: try row.decode("taken_by"), since: try row.decode("taken_at"))
        }
        for (key, redelivery) in redeliveries {
            if let index = indices[key] { page[index].redelivery = redelivery }
        }
        for row in comments {
            guard let index = indices[try TransactionKey(row)] else { continue }
            page[index].comments.append(
                DeskComment(
                    at: try row.decode("happened_at"), by: try row.decode("actor"),
                    text: try row.decode("note", as: String?.self) ?? ""))
        }
    }
}
