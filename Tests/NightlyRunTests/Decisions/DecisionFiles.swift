import Foundation
import Reconciliation

@testable import Importing
@testable import Job

/// A report's list as a test writes it.
enum DecisionFiles {
    static let vocabulary = DecisionVocabulary(
        columns: [
            ("case", .mark), ("decision", .decision), ("note", .note), ("transaction_id", .transaction),
            ("漏单编号", .mark), ("处理结果", .decision), ("备注", .note), ("交易", .transaction),
        ],
        decisions: [("已发货", .delivered), ("无需处理", .dismissed), ("已退款", .refunded)])

    static let form = DecisionForm(vocabulary: vocabulary) { $0.joined(separator: ",") + "\n" }

    static func mark(_ id: String = "1000000001", _ standing: String = "01234567-89abcdef") -> String {
        "com.example.game Production \(id) \(standing)"
    }

    /// What lines of CSV decide, each as `number id decision note` or `number reason`.
    static func read(_ bytes: some Sequence<UInt8>) throws -> [String] {
        try DecisionSheet.read(PiecewiseSource(bytes), named: "list.csv", vocabulary).lines.map(\.text)
    }
}

extension DecisionSheet.Line {
    var text: String {
        switch self {
        case .decided(let line):
            "\(line.number) \(line.mark.key.id) \(line.decision.rawValue) \(line.note)"
                .trimmingCharacters(in: .whitespaces)
        case .refused(let line): "\(line.number) \(line.reason.rawValue)"
        }
    }
}

/// A folder for one test's files.
func withFolder<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "iap-decisions-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
}
