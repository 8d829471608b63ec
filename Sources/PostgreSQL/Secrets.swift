import CPostgreSQL
import Foundation

enum Secrets {
    /// libpq's message without its line ends and without the password of the connection.
    static func removed(from message: String, of handle: OpaquePointer) -> String {
        let text = message.trimmedLine
        guard let password = PQpass(handle).map({ String(cString: $0) }), !password.isEmpty else { return text }
        return text.replacing(password, with: "…")
    }
}

extension String {
    var trimmedLine: String {
        split(whereSeparator: \.isNewline).joined(separator: " ").trimmingCharacters(in: .whitespaces)
    }
}
