import AppStoreSimulator
import Foundation

/// The options that say which world it is; `serve` and `populate` must be given the same.
enum WorldOptions {
    static let names: Set<String> = ["seed", "customers", "days", "now"]
    static let switches: Set<String> = ["signed-transactions"]

    static let help = """
          --seed N               what makes receipts, faults and the world (default 1)
          --customers N          (default 3000)
          --days N               over which they buy (default 14)
          --now MOMENT           the end of the world, such as 2026-11-21T03:00:00Z (default: the present)
          --signed-transactions  some clients hand in signed transactions of StoreKit 2, which verifyReceipt can't read
        """

    static func seed(_ options: Options) throws(UsageError) -> UInt64 {
        try options.number("seed", in: 0...UInt64.max) ?? 1
    }

    static func settings(_ options: Options) throws -> WorldSettings {
        try WorldSettings(
            seed: seed(options), customers: options.number("customers", in: 0...10_000_000) ?? 3000,
            days: options.number("days", in: 3...3650) ?? 14, now: options.moment("now") ?? Date(),
            hasSignedTransactions: options.has("signed-transactions"))
    }

    /// Writes each app's shared secret into a file that only its owner can read.
    static func writeSecrets(of apps: [SimulatedApp], _ options: Options) throws {
        guard let folder = options.text("secrets-dir") else { return }
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: attributes)
        for app in apps {
            guard let secret = app.sharedSecret else { continue }
            try Files.write("\(secret)\n", to: "\(folder)/\(app.bundleID)", mode: 0o600)
        }
    }
}
