import CPostgreSQL

extension Connection {
    /// Runs a statement and returns its rows.
    public func query(_ sql: SQL) async throws(PostgreSQLError) -> [Row] {
        var rows: [Row] = []
        try await run(sql) { result in
            let columns = result.columns()
            rows.reserveCapacity(result.rowCount)
            for index in 0..<result.rowCount { rows.append(result.row(index, columns)) }
        }
        return rows
    }

    /// Runs a statement and returns how many rows it wrote or read; 0 if that has no meaning.
    @discardableResult
    public func execute(_ sql: SQL) async throws(PostgreSQLError) -> Int {
        var affected = 0
        try await run(sql) { affected = $0.affectedRows }
        return affected
    }

    /// Runs a statement and returns the names of its result's columns, in order.
    public func columnNames(of sql: SQL) async throws(PostgreSQLError) -> [String] {
        var names: [String] = []
        try await run(sql) { names = $0.columns().names }
        return names
    }

    /// Runs several statements without values, as they are, in one implicit transaction unless they say otherwise.
    public func executeScript(unsafe sql: String) async throws(PostgreSQLError) {
        let session = session
        let script = try Statement.checked(sql)
        do {
            try await session.cancellably { () async throws(PostgreSQLError) in
                try await session.send { PQsendQuery($0, script) }
                try await session.finish()
            }
        } catch {
            throw error.adding(statement: script)
        }
    }

    private func run(_ sql: SQL, _ take: (borrowing QueryResult) -> Void) async throws(PostgreSQLError) {
        let statement = try Statement(sql)
        let session = session
        do {
            try await session.cancellably { () async throws(PostgreSQLError) in
                try await session.send { statement.send(on: $0) }
                try await session.finish(take)
            }
        } catch {
            throw error.adding(statement: statement.text)
        }
    }

    /// Passes the rows one by one as they arrive; the whole result is never in memory. An error of the closure ends the
    /// statement and is rethrown.
    public func forEachRow(_ sql: SQL, _ body: (Row) throws -> Void) async throws {
        let statement = try Statement(sql)
        let session = session
        var failure: (any Error)?
        do {
            try await session.cancellably { () async throws(PostgreSQLError) in
                try await session.send { statement.send(on: $0) == 1 ? PQsetSingleRowMode($0) : 0 }
                var columns: Columns?
                try await session.finish { result in
                    guard failure == nil, result.rowCount > 0 else { return }
                    let known = columns ?? result.columns()
                    columns = known
                    do {
                        try body(result.row(0, known))
                    } catch {
                        failure = error
                        session.canceller.request()
                    }
                }
            }
        } catch {
            throw failure ?? error.adding(statement: statement.text)
        }
        if let failure { throw failure }
    }
}
