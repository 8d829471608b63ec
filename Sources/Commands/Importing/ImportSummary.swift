public import Importing
import Ledger
public import Reconciliation

/// What became of a file's lines: each is taken, was there already, or is refused.
public struct ImportSummary: Hashable, Sendable {
    public internal(set) var taken = 0
    public internal(set) var alreadyThere = 0
    public internal(set) var refused: [RefusalReason: Int] = [:]
    /// How many lines that can be taken are of each app, for the first hundred apps that the file names.
    public internal(set) var linesByApp: [BundleID: Int] = [:]
    /// Why the rest of the file can't be imported: these lines were before it.
    public internal(set) var flaw: ImportError?
    /// Whether the file was read to its end.
    public internal(set) var isComplete = false

    public var refusedCount: Int { refused.values.reduce(0, +) }
    public var lines: Int { taken + alreadyThere + refusedCount }

    /// A file whose columns are mixed up may name another app in each line.
    private static let mostApps = 100

    mutating func count(_ lines: [ImportLine]) {
        for line in lines {
            let bundleID = line.row.bundleID
            guard linesByApp[bundleID] != nil || linesByApp.count < Self.mostApps else { continue }
            linesByApp[bundleID, default: 0] += 1
        }
    }
}
