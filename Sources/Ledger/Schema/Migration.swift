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
                PackageResources._1_inbox_sql, PackageResources._2_ledger_sql, PackageResources._3_cases_and_runs_sql,
                PackageResources._4_seals_sql, PackageResources._5_purchases_sql, PackageResources._6_places_sql,
                PackageResources._7_hearing_sql, PackageResources._8_moves_sql, PackageResources._9_owed_once_sql,
                PackageResources._0_uploads_sql, PackageResources._1_admission_sql, PackageResources._2_owners_sql,
                PackageResources._3_claims_sql, PackageResources._4_support_desk_sql,
                PackageResources._5_reopening_sql, PackageResources._6_adoption_sql, PackageResources._7_cases_sql,
                PackageResources._8_batch_sql, PackageResources._9_restored_sql, PackageResources._0_refunds_once_sql,
                PackageResources._1_imports_sql, PackageResources._2_statistics_sql, PackageResources._3_journal_sql,
                PackageResources._4_closing_sql, PackageResources._5_finance_sql,
                PackageResources._6_control_totals_sql, PackageResources._7_as_of_sql, PackageResources._8_sales_sql,
                PackageResources._9_retention_sql, PackageResources._0_erasure_sql,
                PackageResources._1_entitlements_sql, PackageResources._2_grants_sql, PackageResources._3_sources_sql,
                PackageResources._4_notices_sql, PackageResources._5_customers_sql, PackageResources._6_unproved_sql,
                PackageResources._7_prices_sql, PackageResources._8_answers_sql, PackageResources._9_owed_sql,
                PackageResources._0_status_sql, PackageResources._1_redeliveries_sql,
                PackageResources._2_statement_sql, PackageResources._3_unpaid_orders_sql,
                PackageResources._4_rights_sql,
            ].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n"))
    ]

    /// The name of the file or folder.
    public var fileName: String {
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + "\(digits)_\(name)"
    }
}
