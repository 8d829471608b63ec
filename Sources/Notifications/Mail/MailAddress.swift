import Foundation

/// A sender or receiver of a mail: `root`, `ops@example.com`, or `Night job <ops@example.com>`.
public struct MailAddress: Sendable, Equatable {
    /// In any script.
    public let name: String?
    /// In ASCII, which every mail server accepts.
    public let address: String

    /// - Returns: `nil` if the text is not such an address.
    public init?(_ text: String) {
        let text = text.trimmingCharacters(in: .whitespaces)
        guard let bracket = text.lastIndex(of: "<"), text.hasSuffix(">") else {
            self.init(name: nil, address: text)
            return
        }
        let name = Self.unquoted(text[..<bracket].trimmingCharacters(in: .whitespaces))
        self.init(name: name.isEmpty ? nil : name, address: String(text[text.index(after: bracket)...].dropLast()))
    }

    private init?(name: String?, address: String) {
        let isPlain = name?.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ?? true
        guard isPlain, address.utf8.count <= 254, address.wholeMatch(of: Self.form) != nil else { return nil }
        self.name = name
        self.address = address
    }

    /// Addresses separated by commas; `nil` if one of them is invalid, or there is none.
    public static func list(_ text: String) -> [MailAddress]? {
        var (pieces, isQuoted) = ([""], false)
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            if character == ",", !isQuoted { pieces.append("") } else { pieces[pieces.count - 1].append(character) }
        }
        let addresses = pieces.compactMap(MailAddress.init)
        return addresses.count == pieces.count ? addresses : nil
    }

    /// A dot-atom of RFC 5322, followed by a host name, if there is one.
    private static var form: Regex<Substring> {
        /[A-Za-z0-9!#$%&'*+\/=?^_`{|}~\-]+(?:\.[A-Za-z0-9!#$%&'*+\/=?^_`{|}~\-]+)*(?:@[A-Za-z0-9](?:[A-Za-z0-9.\-]*[A-Za-z0-9])?)?/
    }

    private static func unquoted(_ name: String) -> String {
        name.count >= 2 && name.hasPrefix("\"") && name.hasSuffix("\"") ? String(name.dropFirst().dropLast()) : name
    }
}
