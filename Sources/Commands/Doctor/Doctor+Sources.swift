import Foundation
import Importing
import Intake
import Job
import Ledger
import Reconciliation
import Verification

extension Doctor {
    /// Whether each source can be read, and its first rows as they would be taken. Takes nothing.
    func sources() async -> [Finding] {
        guard !settings.sources.isEmpty else { return [] }
        var findings = await importRights()
        for source in settings.sources { findings.append(await finding(on: source)) }
        return findings
    }

    private static let shownRows = 3

    private func importRights() async -> [Finding] {
        do {
            let session = try await LedgerSession.connect(
                LedgerSettings(database: settings.importDatabase ?? settings.database))
            defer { session.close() }
            let missing = try await session.missingRights(of: .imports)
            guard missing.isEmpty else {
                return [
                    Finding(
                        "sources", .wrong, "the role that takes them lacks \(missing.joined(separator: ", "))",
                        remedy: Self.grantingAgain(
                            "name a login that is iap_import, or a member of it, in \(LoginRole.imports.key) in "
                                + "[database]"))
                ]
            }
            let refused = try await refusedLogins(session)
            return refused.isEmpty
                ? [Finding("sources", .fine, "the role that takes them has the rights that it needs")] : refused
        } catch {
            return [
                Finding("sources", .wrong, error.description, remedy: "Check \(LoginRole.imports.key) in [database].")
            ]
        }
    }

    private func finding(on source: SourceSettings) async -> Finding {
        let rows = SourceRows(
            kind: source.kind, apps: Set(settings.apps.map(\.app.bundleID)), present: Date())
        do {
            switch source.origin {
            case .query(let query): return try await finding(on: query, of: source, rows)
            case .folder(let path): return try await finding(onFolder: path, of: source, rows)
            }
        } catch {
            return Finding(
                Self.name(of: source), .wrong, String(describing: error),
                remedy: "Mend the section [source \(source.name)].")
        }
    }

    private static func name(of source: SourceSettings) -> String { "source \(source.name)" }

    private func finding(
        on query: SourceQuery, of source: SourceSettings, _ rows: SourceRows
    ) async throws -> Finding {
        let theirs = try await SourceSession.open(query, known: Set(source.kind.fieldsByColumn.keys))
        defer { theirs.close() }
        let fields = try rows.fields(inColumns: theirs.columns)
        let first = try await theirs.firstRows(Self.shownRows, present: rows.present)
        let judged = rows.judge(first, fields, from: 1) { "row \(1 + $0)" }
        return Self.finding(on: source, "gives \(theirs.columns.joined(separator: ", "))", judged)
    }

    private func finding(
        onFolder path: String, of source: SourceSettings, _ rows: SourceRows
    ) async throws -> Finding {
        let listing = try Pull.listing(of: path)
        guard let file = listing.files.first else {
            return Finding(
                Self.name(of: source), .warning,
                "\(path) holds no file that ends with .csv, .jsonl or .ndjson, or these "
                    + "with .gz", details: listing.passedOver.map { "passed over: \($0)" })
        }
        var judged = SourceRows.Judged()
        let reader = try Pull.reader(of: file, in: path, kind: source.kind, stop: StopSignal())
        if let lines = try await reader.next() {
            judged.refused = lines.refused.prefix(Self.shownRows).map { Pull.refused($0, in: file) }
            for line in lines.batch.lines.prefix(Self.shownRows) { rows.add(line, to: &judged) }
        }
        let others = listing.warning.map { "; \($0)" } ?? ""
        return Self.finding(
            on: source, "\(path) holds \(listing.files.count.counted("file")), the first \(file.name)\(others)", judged)
    }

    private static func finding(
        on source: SourceSettings, _ text: String, _ judged: SourceRows.Judged
    ) -> Finding {
        let details =
            judged.lines.map { "taken: \($0.row.summary)" }
            + judged.refused.map { "refused: \($0.id): \($0.text)" }
        return Finding(
            name(of: source), judged.lines.isEmpty && !judged.refused.isEmpty ? .wrong : .fine,
            details.isEmpty ? "\(text); it holds no row yet" : "\(text); its first rows:",
            remedy: judged.refused.isEmpty ? nil : "Mend the query, or those rows.", details: details)
    }
}

extension ImportedRow {
    /// What would be taken, in a line. A receipt's payload is left out: it is the customer's proof of purchase.
    var summary: String {
        func text(_ parts: [String?]) -> String { parts.compactMap(\.self).joined(separator: ", ") }
        func day(_ date: Date?) -> String? { date?.formatted(.iso8601) }
        switch self {
        case .receipt(let receipt):
            return text([
                "\(receipt.bundleID)", receipt.userID, "\(receipt.payload.utf8.count) bytes", receipt.transactionID,
                receipt.orderID, day(receipt.submittedAt),
            ])
        case .order(let order):
            return text([
                "\(order.bundleID)", order.orderID, order.userID, "\(order.quantity) × \(order.productID)",
                day(order.createdAt),
            ])
        case .delivery(let delivery):
            return text([
                "\(delivery.key.bundleID)", "\(delivery.key.id)", "\(delivery.quantity) × \(delivery.productID)",
                delivery.userID, delivery.orderID, "delivered \(delivery.deliveredAt.formatted(.iso8601))",
            ])
        case .entitlement(let entitlement):
            return text([
                "\(entitlement.bundleID)", "\(entitlement.originalID)", entitlement.userID,
                "until \(day(entitlement.until) ?? "for ever")", day(entitlement.revokedAt).map { "revoked \($0)" },
            ])
        case .product(let product):
            let price = product.product.listPrice.map { "\($0.milliunits) milliunits of \($0.currency)" }
            return text([
                "\(product.bundleID)", "\(product.product.id)", product.product.type.rawValue, product.product.name,
                price,
            ])
        }
    }
}
