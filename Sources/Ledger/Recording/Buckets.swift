import PostgreSQL

/// The slices of the inbox.
enum Bucket {
    /// How many there are: a number that the tables' constraints have, too, so it never changes.
    static let count: Int16 = 64
    /// All of them, by their numbers.
    static let all = 0..<count
}

extension SQL.StringInterpolation {
    /// Whether a row of the inbox lies in these buckets. For one bucket, which may be large, the index gives the
    /// receipts in order. In a cluster such a statement is one server's, so it must name the bucket for each table.
    mutating func appendInterpolation(isIn buckets: [Int16], of table: SQL) {
        if let only = buckets.first, buckets.count == 1 {
            appendInterpolation("\(table).bucket = \(only)" as SQL)
        } else {
            appendInterpolation("\(table).bucket = ANY (\(buckets))" as SQL)
        }
    }

    /// One more condition where the rows are found by their keys: it names the bucket, if it is one alone. For several
    /// buckets it would only have the planner look for each row in each of them.
    mutating func appendInterpolation(andIsInOnly buckets: [Int16], of table: SQL) {
        if buckets.count == 1 { appendInterpolation("AND \(isIn: buckets, of: table)" as SQL) }
    }

    /// Some receipts of the inbox or of its shadow, each looked up by its key: with two lists, the planner would look
    /// for each receipt in each bucket. The table comes first and lends its keys their types: Citus takes the second
    /// column of such a list for one of the first's type.
    mutating func appendInterpolation(receipts ids: [Int64], of table: SQL) {
        appendInterpolation(
            """
            \(table) JOIN unnest(\(ids.buckets), \(ids)) AS asked (bucket, receipt_id) USING (bucket, receipt_id)
            """ as SQL)
    }
}

extension Int64 {
    /// The bucket of the inbox in which the receipt of this id lies: the id says it.
    var bucket: Int16 { Int16(self & Int64(Bucket.count - 1)) }
}

extension Sequence<Int64> {
    /// The bucket of the inbox in which each of these receipts lies.
    var buckets: [Int16] { map(\.bucket) }
    /// Each bucket once, in their order.
    var distinctBuckets: [Int16] { Set(buckets).sorted() }
}
