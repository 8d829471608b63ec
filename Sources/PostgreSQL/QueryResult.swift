import CPostgreSQL

/// A result of libpq's, freed with its owner.
struct QueryResult: ~Copyable {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    var status: ExecStatusType { PQresultStatus(handle) }
    var rowCount: Int { Int(PQntuples(handle)) }
    var affectedRows: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }
    var commandTag: String { String(cString: PQcmdStatus(handle)) }

    var isCopy: Bool { [PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH].contains(status) }

    /// The failure that the result stands for, if it is one.
    var failure: PostgreSQLError? {
        switch status {
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR: PostgreSQLError(result: handle)
        default: nil
        }
    }

    func columns() -> Columns {
        let indexes = 0..<PQnfields(handle)
        return Columns(
            names: indexes.map { String(cString: PQfname(handle, $0)) },
            types: indexes.map { DatabaseType(oid: PQftype(handle, $0)) })
    }

    /// Copies a row out of libpq's memory.
    func row(_ row: Int, _ columns: Columns) -> Row {
        let row = Int32(row)
        let indexes = 0..<Int32(columns.names.count)
        var ends: [Int32] = []
        ends.reserveCapacity(indexes.count)
        var end: Int32 = 0
        for column in indexes {
            if PQgetisnull(handle, row, column) == 1 {
                ends.append(~end)
            } else {
                end += PQgetlength(handle, row, column)
                ends.append(end)
            }
        }
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(end)) { buffer, count in
            for column in indexes {
                let length = Int(PQgetlength(handle, row, column))
                guard length > 0, let value = PQgetvalue(handle, row, column), let start = buffer.baseAddress else {
                    continue
                }
                UnsafeMutableRawPointer(start + count).copyMemory(from: value, byteCount: length)
                count += length
            }
        }
        return Row(columns: columns, bytes: bytes, ends: ends)
    }
}

extension PostgreSQLError {
    init(result: OpaquePointer) {
        let fields = Fields(result: result)
        self.init(fields.sqlState.map(Code.init) ?? .connection, fields)
    }
}

extension PostgreSQLError.Code {
    init(_ state: SQLState) {
        self = state.errorClass == "28" ? .authentication : state.isConnectionLost ? .connection : .server(state)
    }
}

extension PostgreSQLError.Fields {
    init(result: OpaquePointer) {
        func field(_ code: Character) -> String? {
            guard let ascii = code.asciiValue, let text = PQresultErrorField(result, Int32(ascii)) else { return nil }
            return String(cString: text)
        }
        self.init(
            severity: field("S"), sqlState: field("C").map(SQLState.init),
            message: field("M") ?? String(cString: PQresultErrorMessage(result)).trimmedLine,
            detail: field("D"), hint: field("H"), context: field("W"), schema: field("s"), table: field("t"),
            column: field("c"), constraint: field("n"), position: field("P").flatMap { Int($0) })
    }
}
