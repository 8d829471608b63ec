import AppStoreSimulator
public import Foundation

/// A report's cases compared with the truth.
public struct Comparison: Sendable {
    private struct Report: Decodable {
        let cases: [Case]
    }

    /// The fields of a report's case that name its transactions.
    private struct Case: Decodable {
        struct Subscription: Decodable {
            let transactionIDs: [String]

            enum CodingKeys: String, CodingKey {
                case transactionIDs = "transaction_ids"
            }
        }

        let transactionID: String
        let bundleID: String
        let environment: String
        /// For a subscription: the periods without access.
        let subscription: Subscription?

        enum CodingKeys: String, CodingKey {
            case transactionID = "transaction_id"
            case bundleID = "bundle_id"
            case environment, subscription
        }

        var names: [Name] {
            (subscription?.transactionIDs ?? [transactionID]).map {
                Name(transactionID: $0, bundleID: bundleID, environment: environment)
            }
        }
    }

    private struct Name: Hashable {
        let transactionID: String
        let bundleID: String
        let environment: String
    }

    public let trulyLost: Int
    public let found: Int
    public let falseAlarms: Int
    /// A sentence for each missed order and each false case.
    public let differences: [String]

    /// Compares with the text of `report.json`.
    ///
    /// - Parameter usesServerAPI: whether the job could read transaction histories. If not, lost purchases that no
    ///   receipt showed do not count as missed.
    public init(truth: Truth, report json: Data, usesServerAPI: Bool = false) throws {
        let told = Set(try JSONDecoder().decode(Report.self, from: json).cases.flatMap(\.names))
        let lost = Self.named(truth.lost + (usesServerAPI ? truth.lostWithoutReceipt : []))
        let hidden = Self.named(truth.lostWithoutReceipt)
        let missed = lost.filter { !told.contains($0.key) }.values.sorted { $0.transactionID < $1.transactionID }
        let falseCases = told.filter { lost[$0] == nil && hidden[$0] == nil }.sorted {
            $0.transactionID < $1.transactionID
        }
        trulyLost = lost.count
        found = lost.count - missed.count
        falseAlarms = falseCases.count
        differences =
            missed.map { "missed: \($0.transactionID) of \($0.bundleID), lost as \($0.scenario)" }
            + falseCases.map { "false alarm: \($0.transactionID) of \($0.bundleID), \($0.environment)" }
    }

    private static func named(_ orders: [Truth.LostOrder]) -> [Name: Truth.LostOrder] {
        let named = orders.map { order in
            let name = Name(
                transactionID: order.transactionID, bundleID: order.bundleID,
                environment: StoreEnvironment.production.rawValue)
            return (name, order)
        }
        return Dictionary(named, uniquingKeysWith: { first, _ in first })
    }

    public var isEqual: Bool { differences.isEmpty }

    /// The line that ends the demo.
    public var summary: String { "truly lost \(trulyLost), found \(found), false alarms \(falseAlarms)" }
}
