import Foundation

/// What must be known of a libpq connection string before libpq reads it.
enum Conninfo {
    /// Whether it carries a password: `password=` (also `sslpassword=`), or the second half of a URI's user part.
    static func holdsPassword(_ text: String) -> Bool {
        if text.range(of: "password[ \t]*=", options: .regularExpression) != nil { return true }
        return text.range(of: "^postgres(ql)?://[^/@?]*:[^/@?]+@", options: .regularExpression) != nil
    }
}
