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
                PackageResources._1_inbox_sql, PackageResources._2_ledger_sql, PackageResources._3_log_sql,
                PackageResources._4_delivered_once_sql, PackageResources._5_cases_and_runs_sql,
                PackageResources._6_seals_sql, PackageResources._7_purchases_sql, PackageResources._8_places_sql,
                PackageResources._9_hearing_sql, PackageResources._0_moves_sql, PackageResources._1_moved_cases_sql,
                PackageResources._2_owed_once_sql, PackageResources._3_other_ids_sql, PackageResources._4_callers_sql,
                PackageResources._5_uploads_sql, PackageResources._6_admission_sql, PackageResources._7_owners_sql,
                PackageResources._8_claims_sql, PackageResources._9_support_desk_sql, PackageResources._0_reopening_sql,
                PackageResources._1_adoption_sql, PackageResources._2_cases_sql, PackageResources._3_batch_heard_sql,
                PackageResources._4_batch_seen_sql, PackageResources._5_batch_sql, PackageResources._6_withdrawn_sql,
                PackageResources._7_released_sql, PackageResources._8_refunds_once_sql, PackageResources._9_imports_sql,
                PackageResources._0_statistics_sql, PackageResources._1_journal_sql, PackageResources._2_closing_sql,
                PackageResources._3_finance_sql, PackageResources._4_control_totals_sql, PackageResources._5_as_of_sql,
                PackageResources._6_sales_sql, PackageResources._7_sold_against_seen_sql,
                PackageResources._8_retention_sql, PackageResources._9_pseudonyms_sql,
                PackageResources._0_erased_purchases_sql, PackageResources._1_erased_trail_sql,
                PackageResources._2_erasure_sql, PackageResources._3_entitlements_sql, PackageResources._4_covered_sql,
                PackageResources._5_words_sql, PackageResources._6_grants_sql, PackageResources._7_imported_grants_sql,
                PackageResources._8_sources_sql, PackageResources._9_notices_sql, PackageResources._0_customers_sql,
                PackageResources._1_unproved_sql, PackageResources._2_prices_sql, PackageResources._3_answers_sql,
                PackageResources._4_owed_sql, PackageResources._5_status_sql,
                PackageResources._6_redeliveries_sql, PackageResources._7_redelivery_orders_sql,
                PackageResources._8_redelivered_sql, PackageResources._9_statement_sql,
                PackageResources._0_unpaid_orders_sql, PackageResources._1_shared_columns_sql,
                PackageResources._2_rights_sql,
            ].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n"))
    ]

    /// The name of the file or folder.
    public var fileName: String {
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + "\(digits)_\(name)"
    }
}
