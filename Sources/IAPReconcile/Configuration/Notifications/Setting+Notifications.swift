import Foundation
import Notifications

/// Settings that only the sections on notifications have.
extension Setting {
    /// The URL of an HTTP server. It may admit whoever knows it, so no error shows it.
    func secretAddress() throws(ConfigurationError) -> String {
        let example = URL(string: text.replacing("{code}", with: "0"))
        let isPrintable = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPrintable, let example, ["http", "https"].contains(example.scheme), example.host()?.isEmpty == false,
            example.user() == nil, example.password() == nil, example.fragment() == nil
        else {
            throw error(
                "“\(key)” is an address such as https://example.com/path, without user name, password and fragment")
        }
        return text
    }

    func mailAddress() throws(ConfigurationError) -> MailAddress {
        guard let address = MailAddress(text) else {
            throw error("“\(key)” is a mail address such as “Night job <ops@example.com>”, not “\(text)”")
        }
        return address
    }

    func mailAddresses() throws(ConfigurationError) -> [MailAddress] {
        guard let addresses = MailAddress.list(text) else {
            throw error("“\(key)” is mail addresses with commas between them, not “\(text)”")
        }
        return addresses
    }

    func absolutePath() throws(ConfigurationError) -> String {
        guard text.hasPrefix("/") else { throw error("“\(key)” is a path that begins with /, not “\(text)”") }
        return text
    }

    /// A number of bytes such as 500k or 7M, in thousands and millions.
    func size() throws(ConfigurationError) -> Int {
        let units: [Character: Int] = ["k": 1_000, "M": 1_000_000]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())), (0...1_000_000).contains(number),
            unit != nil || number == 0
        else { throw error("“\(key)” is a size such as 500k or 7M, or 0, not “\(text)”") }
        return number * (unit ?? 1)
    }

    func metricsFile() throws(ConfigurationError) -> String {
        let path = try absolutePath()
        guard path.hasSuffix(".prom") else {
            throw error("“\(key)” is a path that ends in .prom, for node_exporter reads no others, not “\(text)”")
        }
        return path
    }
}
