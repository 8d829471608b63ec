import PostgreSQL
import Reconciliation

/// An order, a token, a purchase or a user of one app: another app may have the same name for another.
struct NameInApp: Hashable {
    let bundleID: String
    private let exactName: ExactText

    var name: String { exactName.text }

    init(_ bundleID: String, _ name: String) {
        self.bundleID = bundleID
        exactName = ExactText(name)
    }

    /// - Parameter column: the column of the name; that of the app is `bundle_id`.
    init(_ row: Row, _ column: String) throws {
        self.init(try row.decode("bundle_id"), try row.decode(column))
    }
}
