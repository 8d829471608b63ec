import AppStore
package import Foundation

/// The credentials for a vendor's sales reports, all of them from App Store Connect.
public struct SalesAccess: Sendable {
    /// Digits, as App Store Connect shows them under Payments and Financial Reports.
    public var vendorNumber: String
    public var issuerID: String
    /// The id of a key of the team whose role is Admin, Finance or Sales.
    public var keyID: String
    /// The text of the `.p8` file.
    public var key: Secret

    public init(vendorNumber: String, issuerID: String, keyID: String, key: Secret) {
        self.vendorNumber = vendorNumber
        self.issuerID = issuerID
        self.keyID = keyID
        self.key = key
    }
}

/// Apple's daily sales reports of a vendor.
package struct SalesReports: Sendable {
    let client: SalesReportClient

    /// The result of asking for the report of a day.
    package enum Outcome: Sendable, Hashable {
        /// The report, compressed with gzip.
        case report(Data)
        /// Apple has no report: nothing was sold on that day, or it is not ready yet.
        case notThere
        /// Nothing was learnt, for the reason given in a sentence; a later night may bring more.
        case problem(String)
        /// Asking again won't help until somebody corrects the setting that the sentence names.
        case needsConfiguration(String)
    }

    /// Asks for the report of a day of Pacific Time.
    ///
    /// - Parameter day: such as `2026-11-20`.
    /// - Throws: `CancellationError` if the run was asked to stop.
    package func report(of day: String) async throws(CancellationError) -> Outcome {
        switch try await client.report(of: day) {
        case .report(let data): .report(data)
        case .notThere: .notThere
        case .tryAgain(let why): .problem(why.text)
        case .needsConfiguration(let what): .needsConfiguration(what)
        case .notTried: .problem("Apple's sales reports could not be reached")
        }
    }
}
