import Foundation
import Reconciliation

/// A column of `lost-orders.csv`: its name, and what a case has there.
struct CSVColumn: Sendable {
    let name: @Sendable (Formats) -> String
    let cell: @Sendable (CSVRow) -> String

    private init(_ name: String, _ cell: @escaping @Sendable (CSVRow) -> String) {
        self.init(name: { _ in name }, cell: cell)
    }

    private init(name: @escaping @Sendable (Formats) -> String, cell: @escaping @Sendable (CSVRow) -> String) {
        self.name = name
        self.cell = cell
    }
}

/// A case, and what the columns need to write it.
struct CSVRow {
    let found: ReportedCase
    let formats: Formats
    let words: any Wording
    let now: Date
}

extension CSVColumn {
    static let all: [CSVColumn] = [
        CSVColumn("likelihood") { $0.found.assessment.likelihood.rawValue },
        CSVColumn("user") { CSV.name($0.found.assessment.owner.candidates.joined(separator: " | ")) },
        CSVColumn("transaction_id") { $0.found.key.id.text },
        CSVColumn("original_transaction_id") { $0.found.originalID.text },
        CSVColumn("app") { $0.found.key.bundleID.text },
        CSVColumn("environment") { $0.found.key.environment.rawValue },
        CSVColumn("product_id") { CSV.name($0.found.productID.text) },
        CSVColumn("product") { CSV.name($0.found.productName ?? "") },
        CSVColumn("quantity") { String($0.found.quantity) },
        CSVColumn("price") { $0.found.price.map(Formats.amount) ?? "" },
        CSVColumn("currency") { $0.found.price?.currency.text ?? "" },
        CSVColumn("price_is_list_price") { $0.found.price == nil ? "" : $0.found.isListPrice ? "yes" : "no" },
        CSVColumn("purchased_utc") { Formats.utc($0.found.purchasedAt) },
        CSVColumn(name: { "purchased \($0.zoneName)" }, cell: { $0.formats.local($0.found.purchasedAt) }),
        CSVColumn("age") { $0.words.age($0.now.timeIntervalSince($0.found.purchasedAt)) },
        CSVColumn("reasons") { $0.found.assessment.reasons.map(\.rawValue).joined(separator: " ") },
        CSVColumn("suggested_action") { $0.words.action($0.found.assessment, redelivery: $0.found.redelivery) },
        CSVColumn("order_ids") { CSV.name($0.found.orderIDs.joined(separator: " | ")) },
        CSVColumn("device") { Device.text($0.found.device) },
        CSVColumn("verified_by") { $0.found.source.rawValue },
        CSVColumn("new") { $0.found.isNew ? "yes" : "no" },
        CSVColumn("periods") { $0.found.subscription.map { String($0.periods.count) } ?? "" },
        CSVColumn("paid_until_utc") { $0.found.subscription?.paidUntil.map(Formats.utc) ?? "" },
        CSVColumn("entitled_until_utc") { $0.found.subscription?.entitledUntil.map(Formats.utc) ?? "" },
        CSVColumn("case") { $0.found.mark.text },
        // For a person to fill in.
        CSVColumn("decision") { _ in "" },
        CSVColumn("note") { _ in "" },
    ]
}
