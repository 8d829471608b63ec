import Commands
import AppStoreSimulator
import Foundation
import Job
import Reconciliation
import TestSupport
import Testing

extension Play {
    /// Settings as the support desk's own configuration has them.
    var deskSettings: JobSettings {
        var settings = settings
        settings.database = database.conninfo(as: "iap_support")
        return settings
    }

    /// What the support desk is told of an id.
    ///
    /// - Parameter apple: the settings by which Apple is asked; nothing where asking would be a mistake.
    func check(_ id: String, askingApple apple: JobSettings? = nil, now: Date? = nil) async throws -> Enquiry {
        try await SupportDesk(settings: deskSettings, now: now ?? began + 3600).check(id) {
            try #require(apple, "Apple was asked about \(id)")
        }
    }

    func verdict(on id: String) async throws -> DeskVerdict { DeskVerdict(of: try await check(id)) }

    @discardableResult
    func decide(
        _ decision: Resolution.Decision, _ transaction: SimulatedTransaction, as role: String = "iap_support",
        _ change: (inout Resolution) -> Void = { _ in }
    ) async throws -> ResolutionOutcome {
        var settings = settings
        settings.database = database.conninfo(as: role)
        var resolution = Resolution(
            transactionID: try #require(TransactionID(transaction.id)), decision: decision, by: "sue", note: "a ticket")
        change(&resolution)
        return try await SupportDesk(settings: settings).carryOut(resolution)
    }
}
