import Foundation
import Reconciliation

extension JSONReport {
    /// What became of the redeliveries.
    struct Redeliveries: Encodable {
        let ordered, delivered, open, failing: Int
        /// The first of the redeliveries that fail.
        let failures: [Failure]

        init?(_ figures: RedeliveryFigures) {
            guard !figures.isEmpty else { return nil }
            ordered = figures.ordered
            delivered = figures.delivered
            open = figures.open
            failing = figures.failing
            failures = figures.failures.map(Failure.init)
        }
    }

    /// A redelivery that the app's server leased but did not claim in time, or did not take for a day.
    struct Failure: Encodable {
        let transactionID, bundleID, environment, userID: String
        let tries: Int
        let isGivenUp: Bool
        let takenAt: Date?

        init(_ failure: FailingRedelivery) {
            transactionID = failure.key.id.text
            bundleID = failure.key.bundleID.text
            environment = failure.key.environment.rawValue
            userID = failure.userID
            tries = failure.tries
            isGivenUp = failure.isGivenUp
            takenAt = failure.takenAt
        }
    }
}
