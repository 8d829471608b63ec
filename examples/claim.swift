// An app's server beside iap-reconcile, in Swift with libpq. Build it with a module map for libpq-fe.h, such as
// Sources/CLibraries/CPostgreSQL of iap-reconcile:
//   swiftc -parse-as-library claim.swift -I CPostgreSQL -I "$(pg_config --includedir)"
import CPostgreSQL
import Glibc

/// What PostgreSQL said, with the SQLSTATE by which a caller tries again.
struct DatabaseError: Error {
    let state: String
    let message: String
}

final class Database {
    private let connection: OpaquePointer?

    init(_ conninfo: String) throws {
        connection = PQconnectdb(conninfo)
        guard PQstatus(connection) == CONNECTION_OK else {
            throw DatabaseError(state: "08006", message: String(cString: PQerrorMessage(connection)))
        }
    }

    deinit { PQfinish(connection) }

    /// Rows of texts; the values are parameters, never a piece of the statement.
    @discardableResult
    func query(_ sql: String, _ values: [String?] = []) throws -> [[String?]] {
        let copies = values.map { $0.flatMap { strdup($0) } }
        defer { copies.forEach { free($0) } }
        let result = PQexecParams(
            connection, sql, Int32(values.count), nil, copies.map { UnsafePointer($0) }, nil, nil, 0)
        defer { PQclear(result) }
        guard [PGRES_TUPLES_OK, PGRES_COMMAND_OK].contains(PQresultStatus(result)) else {
            // PG_DIAG_SQLSTATE, a macro of a character, which Swift does not import.
            let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
            throw DatabaseError(state: state ?? "08006", message: String(cString: PQresultErrorMessage(result)))
        }
        return (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { column in
                PQgetisnull(result, row, column) == 1 ? nil : String(cString: PQgetvalue(result, row, column))
            }
        }
    }

    func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try query("BEGIN")
        do {
            let value = try body()
            try query("COMMIT")
            return value
        } catch {
            _ = try? query("ROLLBACK")
            throw error
        }
    }
}

struct Purchase {
    let id: String
    let order: String?
    let product: String
    let quantity: String
}

/// Credits a purchase in the transaction that claims it: both happen, or neither. Gives the claim's outcome.
func claimAndCredit(_ database: Database, _ app: String, _ user: String, _ one: Purchase) throws -> String {
    try database.transaction {
        let answer = try database.query("SELECT iap.claim($1, $2, $3, $4)", [app, one.id, user, one.order])
        let outcome = answer[0][0] ?? ""
        if outcome == "delivered" {
            try database.query(
                "INSERT INTO goods AS had VALUES ($1, $2, $3)"
                    + " ON CONFLICT (user_id, product_id) DO UPDATE SET units = had.units + excluded.units",
                [user, one.product, one.quantity])
        }
        return outcome
    }
}

/// At login: what was lost on the way, each in a transaction of its own. One that fails keeps up no other.
func deliverWhatIsOwed(_ database: Database, _ app: String, _ user: String) throws {
    let owed = try database.query(
        "SELECT transaction_id, order_ids[1], product_id, quantity FROM iap.owed($1, $2) WHERE is_certain", [app, user])
    for row in owed {
        guard let id = row[0], let product = row[2], let quantity = row[3] else { continue }
        let one = Purchase(id: id, order: row[1], product: product, quantity: quantity)
        do {
            _ = try claimAndCredit(database, app, user, one)
        } catch {
            print("\(id) is still owed: \(error)")
        }
    }
}

/// For the URL to which Apple posts: nothing else needs to be done. Answer 200.
func takeNotification(_ database: Database, _ app: String, _ signedPayload: String) throws {
    try database.query("SELECT iap.submit_notification($1, $2)", [app, signedPayload])
}

@main
enum Example {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let database = try Database("")
        switch words.first {
        case "claim" where words.count == 7:
            let one = Purchase(
                id: words[2], order: words[4].isEmpty ? nil : words[4], product: words[5], quantity: words[6])
            print(try claimAndCredit(database, words[1], words[3], one))
        case "login" where words.count == 3: try deliverWhatIsOwed(database, words[1], words[2])
        case "notification" where words.count == 3: try takeNotification(database, words[1], words[2])
        default: print("claim APP ID USER ORDER PRODUCT QUANTITY | login APP USER | notification APP PAYLOAD")
        }
    }
}
