/// One step of the schema, as a file or a folder of sql/migrations holds it.
public struct Migration: Sendable, Hashable {
    public let number: Int
    public let name: String
    public let sql: String

    /// Every migration that this program knows, in the order in which they are applied.
    public static let all: [Migration] = [
        Migration(
            number: 1, name: "ledger",
            sql: [
                PackageResources._1_inbox_sql, PackageResources._2_ledger_sql, PackageResources._3_seals_sql,
                PackageResources._4_purchases_sql, PackageResources._5_places_sql, PackageResources._6_moves_sql,
                PackageResources._7_uploads_sql, PackageResources._8_admission_sql, PackageResources._9_claims_sql,
                PackageResources._0_support_desk_sql, PackageResources._1_adoption_sql,
                PackageResources._2_cases_sql, PackageResources._3_batch_sql, PackageResources._4_restored_sql,
                PackageResources._5_imports_sql, PackageResources._6_statistics_sql,
                PackageResources._7_journal_sql, PackageResources._8_closing_sql, PackageResources._9_finance_sql,
                PackageResources._0_sales_sql, PackageResources._1_retention_sql, PackageResources._2_erasure_sql,
                PackageResources._3_entitlements_sql, PackageResources._4_grants_sql,
                PackageResources._5_sources_sql, PackageResources._6_notices_sql,
                PackageResources._7_questions_sql, PackageResources._8_owed_sql, PackageResources._9_status_sql,
                PackageResources._0_redeliveries_sql, PackageResources._1_statement_sql,
                PackageResources._2_unpaid_orders_sql, PackageResources._3_rights_sql,
            ].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n"))
    ]

    /// As the file or folder is called.
    public var fileName: String {
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + "\(digits)_\(name)"
    }
}
