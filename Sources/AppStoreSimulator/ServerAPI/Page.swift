import Foundation

/// Up to 20 of a customer's transactions, and the revision from which to ask for the next ones. In ascending order
/// whatever is written later follows every revision, so the last one can be kept.
struct Page {
    let purchases: [ServerAPI.Known]
    let hasMore: Bool
    /// Identifies the last transaction of the page: the milliseconds of its change, and its id.
    let revision: String

    /// - Parameter all: in ascending order.
    init(_ all: [ServerAPI.Known], _ request: ServerAPIRequest) throws(ServerAPIError) {
        let isDescending = try Self.isDescending(request.first("sort"))
        var rest = isDescending ? all.reversed() : all
        let revision = request.first("revision") ?? ""
        if !revision.isEmpty {
            let last = try Position(revision)
            rest = rest.filter { isDescending ? Position($0) < last : last < Position($0) }
        }
        purchases = Array(rest.prefix(ServerAPI.pageLength))
        hasMore = rest.count > purchases.count
        self.revision = purchases.last.map { Position($0).text } ?? revision
    }

    private static func isDescending(_ sort: String?) throws(ServerAPIError) -> Bool {
        switch sort {
        case nil, "ASCENDING": false
        case "DESCENDING": true
        default: throw .invalidSort
        }
    }

    /// The position of a transaction in the history.
    private struct Position {
        private let milliseconds: Int64
        private let id: String

        init(_ known: ServerAPI.Known) {
            milliseconds = known.modifiedAt.unixMilliseconds
            id = known.transaction.id
        }

        init(_ revision: String) throws(ServerAPIError) {
            let parts = revision.split(separator: "_")
            guard parts.count == 2, let milliseconds = Int64(parts[0]) else { throw .invalidRevision }
            self.milliseconds = milliseconds
            id = String(parts[1])
        }

        var text: String { "\(milliseconds)_\(id)" }

        static func < (a: Position, b: Position) -> Bool { (a.milliseconds, a.id) < (b.milliseconds, b.id) }
    }
}
