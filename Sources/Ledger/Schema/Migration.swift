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
                PackageResources._4_places_sql, PackageResources._5_app_server_sql,
                PackageResources._6_support_desk_sql, PackageResources._7_night_sql, PackageResources._8_books_sql,
                PackageResources._9_finance_sql, PackageResources._0_sales_sql, PackageResources._1_retention_sql,
            ].map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")),
        Migration(
            number: 2, name: "entitlements",
            sql: String(decoding: PackageResources._002_entitlements_sql, as: UTF8.self)),
        Migration(
            number: 3, name: "sources", sql: String(decoding: PackageResources._003_sources_sql, as: UTF8.self)),
        Migration(number: 4, name: "hear", sql: String(decoding: PackageResources._004_hear_sql, as: UTF8.self)),
        Migration(number: 5, name: "sight", sql: String(decoding: PackageResources._005_sight_sql, as: UTF8.self)),
        Migration(
            number: 6, name: "buckets", sql: String(decoding: PackageResources._006_buckets_sql, as: UTF8.self)),
        Migration(
            number: 7, name: "rehearsal", sql: String(decoding: PackageResources._007_rehearsal_sql, as: UTF8.self)),
        Migration(number: 8, name: "hands", sql: String(decoding: PackageResources._008_hands_sql, as: UTF8.self)),
        Migration(number: 9, name: "tokens", sql: String(decoding: PackageResources._009_tokens_sql, as: UTF8.self)),
        Migration(
            number: 10, name: "snake_case", sql: String(decoding: PackageResources._010_snake_case_sql, as: UTF8.self)),
        Migration(
            number: 11, name: "notices", sql: String(decoding: PackageResources._011_notices_sql, as: UTF8.self)),
        Migration(
            number: 12, name: "questions", sql: String(decoding: PackageResources._012_questions_sql, as: UTF8.self)),
        Migration(number: 13, name: "desk", sql: String(decoding: PackageResources._013_desk_sql, as: UTF8.self)),
        Migration(
            number: 14, name: "redeliveries",
            sql: String(decoding: PackageResources._014_redeliveries_sql, as: UTF8.self)),
        Migration(
            number: 15, name: "statement", sql: String(decoding: PackageResources._015_statement_sql, as: UTF8.self)),
        Migration(number: 16, name: "sales", sql: String(decoding: PackageResources._016_sales_sql, as: UTF8.self)),
        Migration(
            number: 17, name: "comments", sql: String(decoding: PackageResources._017_comments_sql, as: UTF8.self)),
        Migration(
            number: 18, name: "owed", sql: String(decoding: PackageResources._018_owed_sql, as: UTF8.self)),
        Migration(
            number: 19, name: "seals", sql: String(decoding: PackageResources._019_seals_sql, as: UTF8.self)),
        Migration(
            number: 20, name: "statistics",
            sql: String(decoding: PackageResources._020_statistics_sql, as: UTF8.self)),
        Migration(
            number: 21, name: "customers",
            sql: String(decoding: PackageResources._021_customers_sql, as: UTF8.self)),
        Migration(
            number: 22, name: "confirm", sql: String(decoding: PackageResources._022_confirm_sql, as: UTF8.self)),
    ]

    /// As the file or folder is called.
    public var fileName: String {
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + "\(digits)_\(name)"
    }
}
