import Foundation

@testable import AppStore

/// Answers of Apple's servers that were recorded; kept beside the repository, for they are not the project's.
enum RecordedAnswers {
    /// The folder; `nil` where it is absent.
    static let folder: URL? = {
        let fixtures =
            ProcessInfo.processInfo.environment["IAP_FIXTURES"].map { URL(filePath: $0) }
            ?? URL(filePath: #filePath).appending(path: "../../../../../shared/fixtures").standardizedFileURL
        let folder = fixtures.appending(path: "verify-receipt")
        return FileManager.default.fileExists(atPath: folder.path()) ? folder : nil
    }()

    static let areHere = folder != nil
    static let skipped = "the recorded answers are not beside the repository (IAP_FIXTURES names their folder)"

    /// The bodies by file name.
    static func all() throws -> [String: Data] {
        guard let folder else { return [:] }
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return Dictionary(
            uniqueKeysWithValues: try files.filter { $0.pathExtension == "json" }.map {
                ($0.lastPathComponent, try Data(contentsOf: $0))
            })
    }

    /// The verdict on one of them.
    static func verdict(_ name: String, from endpoint: ServerEnvironment) throws -> VerifyReceiptVerdict? {
        try all()[name].map { VerifyReceiptVerdict(body: $0, endpoint: endpoint, hasSecret: true) }
    }

    /// What one of them says of its receipt.
    static func answer(_ name: String) throws -> VerifiedReceiptAnswer? {
        guard case .settled(.genuine(let answer)) = try verdict(name, from: .sandbox) else { return nil }
        return answer
    }
}
