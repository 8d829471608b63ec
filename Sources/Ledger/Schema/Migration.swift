/// One step of the schema, as a file of sql/migrations holds it.
public struct Migration: Sendable, Hashable {
    public let number: Int
    public let name: String
    public let sql: String

    /// Every migration that this program knows, in the order in which they are applied.
    public static let all: [Migration] = [
        Migration(number: 1, name: "tables", bytes: PackageResources._001_tables_sql),
        Migration(number: 2, name: "functions", bytes: PackageResources._002_functions_sql),
        Migration(number: 3, name: "finance", bytes: PackageResources._003_finance_sql),
        Migration(number: 4, name: "case_life", bytes: PackageResources._004_case_life_sql),
        Migration(number: 5, name: "audit_trail", bytes: PackageResources._005_audit_trail_sql),
        Migration(number: 6, name: "sales", bytes: PackageResources._006_sales_sql),
        Migration(number: 7, name: "retention", bytes: PackageResources._007_retention_sql),
    ]

    private init(number: Int, name: String, bytes: [UInt8]) {
        self.number = number
        self.name = name
        self.sql = String(decoding: bytes, as: UTF8.self)
    }

    /// As the file is called.
    public var fileName: String {
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + "\(digits)_\(name).sql"
    }
}
