public import Foundation

/// Files of this package and beside it.
public enum PackageRoot {
    public static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}

/// Receipts and answers recorded from Apple's documentation and sandbox, which are not part of this package.
public enum Fixtures {
    /// `IAP_FIXTURES`, or `../shared/fixtures` beside the package; `nil` where neither is there.
    public static let folder: URL? = {
        let named = ProcessInfo.processInfo.environment["IAP_FIXTURES"].map { URL(filePath: $0) }
        let folder = named ?? PackageRoot.folder.deletingLastPathComponent().appending(path: "shared/fixtures")
        return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
    }()

    /// For `.enabled(if: Fixtures.isPresent, Fixtures.reason)`.
    public static var isPresent: Bool { folder != nil }

    public static let reason = "needs the fixtures: set IAP_FIXTURES to their folder"

    public static func data(_ path: String) throws -> Data {
        guard let folder else { throw ChildProcess.Failure(description: reason) }
        return try Data(contentsOf: folder.appending(path: path))
    }
}
