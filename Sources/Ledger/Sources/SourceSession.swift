public import Foundation
import PostgreSQL
public import Reconciliation

/// Why a source can't be read, in words that may be shown to anyone.
public struct SourceError: Error, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}

/// Rows of a source, and how far it is read with them.
public struct SourcePage: Sendable {
    /// Each row's values in the order of the columns; `nil` stands for NULL.
    public let rows: [[String?]]
    /// The watermark behind which nothing was left; `nil` if the source has none.
    public let watermark: String?
}

/// A session on a company's own database, in which nothing can be changed.
public final class SourceSession {
    private let connection: Connection
    private let query: SourceQuery
    private let watermark: Watermark?
    /// The columns that the query gives, except for a watermark that no import knows.
    public let columns: [String]
    /// The types of all columns that the query gives.
    private let types: [String]

    private init(
        _ connection: Connection, _ query: SourceQuery, _ columns: [String], types: [String], _ watermark: Watermark?
    ) {
        self.connection = connection
        self.query = query
        self.columns = columns
        self.types = types
        self.watermark = watermark
    }

    /// Seconds for which the session may idle while the ledger takes a page: nothing of the company's is held much
    /// longer by a job that hangs.
    private static let longestPage: TimeInterval = 600

    /// Connects and learns the query's columns.
    ///
    /// - Parameter known: the columns that an import of the kind may have.
    public static func open(_ query: SourceQuery, known: Set<String>) async throws(SourceError) -> SourceSession {
        do {
            let connection = try await Connection.connect(
                ConnectionSettings(
                    query.conninfo, statementTimeout: query.statementTimeout,
                    idleInTransactionTimeout: max(query.statementTimeout, Self.longestPage),
                    furtherParameters: [
                        "default_transaction_read_only": "on", "DateStyle": "ISO, YMD", "TimeZone": "UTC",
                        "bytea_output": "hex",
                    ]))
            do {
                let given = try await connection.columnNames(of: "SELECT * FROM \(query.subselect) LIMIT 0")
                let types = try await Self.types(of: query, columnCount: given.count, on: connection)
                let watermark = try Watermark(of: query, among: given, types: types)
                let columns = given.filter { $0 != query.watermark || known.contains($0) }
                return SourceSession(connection, query, columns, types: types, watermark)
            } catch {
                connection.close()
                throw error
            }
        } catch {
            throw SourceError(translating: error)
        }
    }

    /// The types of the query's columns, in their order. No row is read; the columns are numbered, since a query may
    /// give two of one name.
    private static func types(
        of query: SourceQuery, columnCount: Int, on connection: Connection
    ) async throws -> [String] {
        guard columnCount > 0 else { return [] }
        let names = (1...columnCount).map { "column\($0)" }
        let types = names.map { "pg_typeof(typed.\($0))::text" }.joined(separator: ", ")
        return try await connection.only(
            """
            SELECT ARRAY[\(unsafe: types)] AS types
            FROM (VALUES (1)) AS one
            LEFT JOIN (SELECT * FROM \(query.subselect) LIMIT 0)
                AS typed (\(unsafe: names.joined(separator: ", "))) ON true
            """
        ).decode("types")
    }

    /// Ends, when it is called, what the source is being asked. May be called from any thread.
    public var giveUp: @Sendable () -> Void { connection.giveUp }

    /// Ends the session.
    public func close() { connection.close() }

    /// What is asked of whom, and of what types it is. If this has changed, what was read before says nothing: a
    /// watermark of another type can't be compared, and what was refused for its type may now be taken.
    public var definition: String {
        [
            connection.target, query.text, query.watermark ?? "", columns.joined(separator: ","),
            types.joined(separator: ","),
        ].joined(separator: "\n")
    }

    /// Hands over what stands behind a watermark, and the overlap before it, in pages, ordered by the watermark. All
    /// pages are of one snapshot.
    ///
    /// - Parameters:
    ///   - mark: how far it was read before; `nil` to begin at the beginning.
    ///   - present: no watermark is remembered beyond it, so that one row with a wrong clock hides no other.
    /// - Throws: `SourceError`, or what the body throws.
    public func forEachPage(
        from mark: String?, present: Date, _ body: (SourcePage) async throws -> Void
    ) async throws {
        do {
            try await connection.transaction(.repeatableRead, readOnly: true) {
                _ = try await connection.execute(
                    "DECLARE pulled NO SCROLL CURSOR FOR \(statement(from: mark, present: present))")
                while let page = try await nextPage() { try await body(page) }
            }
        } catch {
            throw Self.cause(of: error)
        }
    }

    /// The first rows as they would be handed over.
    public func firstRows(_ count: Int, present: Date) async throws(SourceError) -> [[String?]] {
        do {
            return try await connection.query(
                "SELECT * FROM (\(statement(from: nil, present: present))) AS first LIMIT \(Int64(count))"
            ).map(values)
        } catch {
            throw SourceError(translating: error)
        }
    }

    private static let pageRows = 5_000
    private static let pageBytes = 8 << 20

    /// What comes next; `nil` at the end.
    private func nextPage() async throws -> SourcePage? {
        var (rows, bytes, watermark): ([[String?]], Int, String?) = ([], 0, nil)
        while rows.count < Self.pageRows, bytes < Self.pageBytes {
            let piece = try await fetch()
            guard !piece.rows.isEmpty else { break }
            bytes += Self.bytes(of: piece)
            rows += piece.rows
            watermark = piece.watermark
        }
        return rows.isEmpty ? nil : SourcePage(rows: rows, watermark: watermark)
    }

    /// Asks for little at once, because all of it is held: a receipt may have a megabyte even if those before it had a
    /// thousand bytes.
    private func fetch() async throws -> SourcePage {
        let rows = try await connection.query("FETCH \(unsafe: String(Self.pieceRows)) FROM pulled")
        return SourcePage(
            rows: try rows.map(values), watermark: try rows.last?.decode(Self.reached, as: String?.self))
    }

    private static let pieceRows = 100

    private static func bytes(of page: SourcePage) -> Int {
        page.rows.reduce(0) { $0 + $1.reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
    }

    private func values(_ row: Row) throws(PostgreSQLError) -> [String?] {
        var values: [String?] = []
        values.reserveCapacity(columns.count)
        for column in columns { values.append(try row.decode(column, as: String?.self)) }
        return values
    }

    /// The name of the column beside the query's own that tells how far it is read.
    private static let reached = "read up to"

    private func statement(from mark: String?, present: Date) -> SQL {
        var sql: SQL = "SELECT "
        for column in columns { sql += "source.\(identifier: column)::text AS \(identifier: column), " }
        guard let watermark else {
            return sql + "NULL::text AS \(identifier: Self.reached) FROM \(query.subselect)"
        }
        let column: SQL = "source.\(identifier: watermark.column)"
        sql +=
            "\(watermark.remembered(column, present: present))::text AS \(identifier: Self.reached) "
            + "FROM \(query.subselect)"
        if let mark {
            sql += " WHERE \(column) >= \(watermark.start(behind: mark, present: present)) OR \(column) IS NULL"
        }
        return sql + " ORDER BY \(column) NULLS FIRST"
    }

    private static func cause(of error: any Error) -> any Error {
        guard let error = error as? TransactionError else { return SourceError(translating: error) }
        if case .body(let cause, _) = error {
            return cause is PostgreSQLError ? SourceError(translating: cause) : cause
        }
        return SourceError(translating: error.databaseError ?? error)
    }
}

extension SourceError {
    init(translating error: any Error) {
        switch error {
        case let error as SourceError: self = error
        case let error as PostgreSQLError: self.init(error.description)
        default: self.init(String(describing: error))
        }
    }
}
