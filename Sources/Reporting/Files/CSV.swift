import Foundation
import Reconciliation

/// `lost-orders.csv`: RFC 4180, UTF-8 with a byte order mark so that Excel reads Chinese.
package enum CSV {
    static let byteOrderMark = "\u{FEFF}"

    static func header(_ formats: Formats) -> String {
        line([
            "likelihood", "user", "transaction_id", "original_transaction_id", "app", "environment", "product_id",
            "product", "quantity", "price", "currency", "price_is_list_price", "purchased_utc",
            "purchased \(formats.zoneName)", "age", "reasons", "suggested_action", "order_ids", "device",
            "verified_by", "new",
        ])
    }

    static func row(_ found: ReportedCase, _ formats: Formats, _ words: any Wording, now: Date) -> String {
        line([
            found.assessment.likelihood.rawValue,
            found.assessment.owner.candidates.joined(separator: " | "),
            id(found.key.id.text), id(found.originalID.text), found.key.bundleID.text,
            found.key.environment.rawValue, found.productID.text, found.productName ?? "", String(found.quantity),
            found.price.map(Formats.amount) ?? "", found.price?.currency.text ?? "",
            found.price == nil ? "" : found.isListPrice ? "yes" : "no",
            Formats.utc(found.purchasedAt), formats.local(found.purchasedAt),
            words.age(now.timeIntervalSince(found.purchasedAt)),
            found.assessment.reasons.map(\.rawValue).joined(separator: " "),
            words.action(found.assessment, orderIDs: found.orderIDs),
            found.orderIDs.joined(separator: " | "), Device.text(found.device), found.source.rawValue,
            found.isNew ? "yes" : "no",
        ])
    }

    /// An id that Excel would round (beyond 15 digits) or write as 1E+15, kept as text by a leading apostrophe: unlike
    /// ="…" it is no formula.
    private static func id(_ text: String) -> String {
        text.utf8.count >= 12 && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? "'" + text : text
    }

    /// A line whose cells are quoted where they must be.
    package static func line(_ cells: [String]) -> String {
        cells.map(cell).joined(separator: ",") + "\r\n"
    }

    /// A cell that no spreadsheet takes for a formula (OWASP, "CSV Injection").
    private static func cell(_ text: String) -> String {
        if isPlain(text) { return text }
        var text = text.replacingOccurrences(of: "\0", with: "")
        if let first = text.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first) { text = "'" + text }
        guard text.unicodeScalars.contains(where: { ",\"\r\n".unicodeScalars.contains($0) }) else { return text }
        // By scalars: a quote and an accent behind it are one character to Swift, which no search for a quote finds.
        let doubled = text.unicodeScalars.flatMap { $0 == "\"" ? [$0, $0] : [$0] }
        return "\"" + String(String.UnicodeScalarView(doubled)) + "\""
    }

    /// Whether the cell is the text itself, as nearly all are: then nothing need be looked for in it.
    private static func isPlain(_ text: String) -> Bool {
        !"=+-@".utf8.contains(text.utf8.first ?? 0)
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
    }
}
