import Foundation
import TestSupport

@testable import AppStore

/// A chain that signs for all tests that need any good one: making keys is slow.
enum SharedAuthority {
    /// A moment within the chain's validity, which began when the tests did.
    static let moment = Date.now.addingTimeInterval(3600)
    private static let making = Task { try await ReceiptAuthority.make() }

    static var authority: ReceiptAuthority {
        get async throws { try await making.value }
    }

    static var roots: TrustRoots {
        get async throws { try TrustRoots.none.adding(contentsOf: try await authority.root) }
    }

    /// A receipt in binary form.
    static func receipt(made date: Date = moment, digest: String = "sha256") async throws -> [UInt8] {
        try await authority.appReceipt(
            ReceiptPayloadWriter.sample(made: date.formatted(.iso8601)).octets, digest: digest)
    }
}
