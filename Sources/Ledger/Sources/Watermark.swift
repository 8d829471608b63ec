import Foundation
import PostgreSQL
import Reconciliation

/// The column by which a source tells what is new.
struct Watermark {
    let column: String
    private let type: ValueType
    private let overlap: SourceQuery.Overlap

    private enum ValueType: String {
        case time = "timestamp with time zone"
        case timeWithoutZone = "timestamp without time zone"
        case bigint, integer, smallint

        var isTime: Bool { self == .time || self == .timeWithoutZone }
    }

    /// `nil` if the query has none.
    ///
    /// - Parameter types: the types of the columns, in their order.
    init?(of query: SourceQuery, among columns: [String], types: [String]) throws(SourceError) {
        guard let column = query.watermark else { return nil }
        guard let name = zip(columns, types).first(where: { $0.0 == column })?.1 else {
            throw SourceError("the query gives no column “\(column)”, its watermark")
        }
        guard let type = ValueType(rawValue: name) else {
            throw SourceError("its watermark “\(column)” is of type \(name), and neither a time nor a whole number")
        }
        self.column = column
        self.type = type
        overlap = query.overlap ?? (type.isTime ? .time(3600) : .numbers(10_000))
        if case .time = overlap, !type.isTime {
            throw SourceError("its watermark “\(column)” is a number, so its overlap is one too, such as 10000")
        }
        if case .numbers = overlap, type.isTime {
            throw SourceError("its watermark “\(column)” is a time, so its overlap is one too, such as 2h")
        }
    }

    /// Rows with a number far too high hide no other as long as they are fewer than this.
    private static let strays = 1000

    /// What is remembered of a row's watermark: never a time to come. For numbers, whose present nobody knows, it is
    /// the watermark of a row well before.
    func remembered(_ column: SQL, present: Date) -> SQL {
        switch type {
        case .time, .timeWithoutZone:
            "CASE WHEN \(column) IS NOT NULL THEN least(\(column), \(self.present(present))) END"
        case .bigint, .integer, .smallint:
            "lag(\(column), \(unsafe: String(Self.strays))) OVER (ORDER BY \(column) NULLS FIRST)"
        }
    }

    private func present(_ present: Date) -> SQL {
        // No zone is further behind UTC.
        type == .time ? "\(present)" : "(\(present) AT TIME ZONE 'UTC') - interval '12 hours'"
    }

    /// Where a pull begins if the source was read up to a mark before. A time to come was remembered by a clock that was
    /// wrong: since when it was, and what came in since then, nobody knows, so that all is read again.
    func start(behind mark: String, present: Date) -> SQL {
        switch overlap {
        case .time(let seconds):
            """
            CASE WHEN \(mark)::\(unsafe: type.rawValue) <= \(self.present(present))
                THEN \(mark)::\(unsafe: type.rawValue) - \(seconds) * interval '1 second'
                ELSE '-infinity' END
            """
        case .numbers(let count): "\(mark)::bigint - \(count)"
        }
    }
}

extension SourceQuery {
    /// The query on lines of its own, so that a comment at its end hides nothing.
    var subselect: SQL {
        "(\n\(unsafe: text.trimmingCharacters(in: .whitespacesAndNewlines.union([";"])))\n) AS source"
    }
}
