import Foundation
import Reconciliation

/// Writes `report.json`, list by list, in the order in which findings come.
final class JSONFile: ReportPart {
    private let file: ReportFile
    private let encoder = JSONEncoder.snakeCase()
    /// The open list, and how many findings are in it.
    private var list = List.cases
    private var listed = 0

    private enum List: String, CaseIterable {
        case cases
        case unusable = "unusable_receipts"
        case unverified = "unverified_receipts"
        case suspicious
        case sales = "sold_against_seen"
    }

    init(_ context: ReportContext) throws {
        file = try context.folder.file("report.json")
        try file.write(
            "{\"run\":\(try text(JSONReport.Run(context.run, context.programVersion)))"
                + ",\"schema_version\":1,\"totals\":\(try text(JSONReport.totals(context.run.totals)))")
        if let sales = context.run.sales { try file.write(",\"sales\":\(try text(JSONReport.Sales(sales)))") }
        try file.write(",\"cases\":[")
    }

    func add(_ lostOrder: ReportedCase) throws { try add(JSONObject(lostOrder).text, to: .cases) }
    func add(unusable receipt: TroubledReceipt) throws { try add(JSONReport.Receipt(receipt), to: .unusable) }
    func add(unverified receipt: TroubledReceipt) throws { try add(JSONReport.Receipt(receipt), to: .unverified) }
    func add(_ suspicion: Suspicion) throws { try add(JSONReport.Suspicious(suspicion), to: .suspicious) }
    func add(_ difference: ComparedSales) throws { try add(JSONReport.SalesDifference(difference), to: .sales) }

    func finish() throws {
        try advance(to: .sales)
        try file.write("]}\n")
        try file.finish()
    }

    private func add(_ value: some Encodable, to list: List) throws { try add(text(value), to: list) }

    private func add(_ json: String, to list: List) throws {
        try advance(to: list)
        try file.write(listed > 0 ? ",\n" : "\n")
        try file.write(json)
        listed += 1
    }

    private func advance(to wanted: List) throws {
        let order = List.allCases
        while list != wanted, let index = order.firstIndex(of: list), index + 1 < order.count {
            list = order[index + 1]
            listed = 0
            try file.write("],\"\(list.rawValue)\":[")
        }
    }

    private func text(_ value: some Encodable) throws -> String {
        Printable.json(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}
