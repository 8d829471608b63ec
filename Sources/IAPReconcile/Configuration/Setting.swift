import Foundation
import Importing
import Job
import Reconciliation

/// One setting as it was written, read as its type. Errors name its line, and never its value if that may be a secret.
struct Setting {
    let file: String
    let line: Int
    let key: String
    let text: String
    /// Whether users other than the job's may read the file.
    let isReadableByOthers: Bool
    let secrets: Secrets

    func error(_ text: String) -> ConfigurationError {
        ConfigurationError(file: file, line: line, text: text)
    }

    /// Storefronts by Apple's names of three capital letters, separated by spaces or commas.
    func storefronts() throws(ConfigurationError) -> Set<String> {
        let names = text.split { $0 == " " || $0 == "," }.map(String.init)
        guard !names.isEmpty, names.allSatisfy({ $0.count == 3 && $0.allSatisfy { ("A"..."Z").contains($0) } }) else {
            throw error("“\(text)” are no storefronts; write their names of three letters, such as “CHN HKG”")
        }
        if let unknown = names.first(where: { Country.code(ofStorefront: $0) == nil }) {
            throw error("“\(unknown)” is no storefront; a country's name of three letters is one of ISO 3166-1")
        }
        return Set(names)
    }

    func nonEmpty() throws(ConfigurationError) -> String {
        guard !text.isEmpty else { throw error("“\(key)” is empty") }
        return text
    }

    func whole(_ range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw error(
                "“\(key)” is a whole number from \(range.lowerBound) to \(range.upperBound), not “\(text)”")
        }
        return number
    }

    func share() throws(ConfigurationError) -> Double {
        guard let number = Double(text), (0...1).contains(number) else {
            throw error("“\(key)” is a share from 0 to 1, such as 0.5, not “\(text)”")
        }
        return number
    }

    func positive() throws(ConfigurationError) -> Double {
        guard let number = Double(text), number > 0, number.isFinite else {
            throw error("“\(key)” is a number above 0, not “\(text)”")
        }
        return number
    }

    /// An amount above 0 with at most three decimals, and its currency: `500 USD`.
    func money() throws(ConfigurationError) -> Money {
        let words = text.split(separator: " ")
        guard words.count == 2, let milliunits = DecimalText.milliunits(words[0]), milliunits > 0,
            let currency = CurrencyCode(String(words[1]))
        else { throw error("“\(key)” is an amount and its currency, such as 500 USD, not “\(text)”") }
        return Money(milliunits: milliunits, currency: currency)
    }

    /// Seconds, written with their unit: `90s`, `90m`, `36h`, `2d`; or 0.
    func duration() throws(ConfigurationError) -> TimeInterval {
        let units: [Character: TimeInterval] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        if text == "0" { return 0 }
        guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()),
            (0...1_000_000).contains(number)
        else {
            throw error("“\(key)” is a time such as 45s, 90m, 36h or 2d, not “\(text)”")
        }
        return Double(number) * unit
    }

    /// How long something is kept: a day or longer; `nil` for `never`.
    func keeping() throws(ConfigurationError) -> TimeInterval? {
        if text == "never" { return nil }
        guard let seconds = try? duration(), seconds >= 86_400 else {
            throw error("“\(key)” is a time of a day or longer, such as 90d, or never, not “\(text)”")
        }
        return seconds
    }

    /// A day or longer.
    func daysOrMore() throws(ConfigurationError) -> TimeInterval {
        guard let seconds = try? duration(), seconds >= 86_400 else {
            throw error("“\(key)” is a time of a day or longer, such as 7d, not “\(text)”")
        }
        return seconds
    }

    /// A time-out above 0, in seconds or with a unit.
    func timeOut() throws(ConfigurationError) -> TimeInterval {
        let seconds = Double(text) == nil ? try duration() : try positive()
        // The limit of PostgreSQL and libcurl, which count milliseconds.
        guard seconds > 0, seconds <= Double(Int32.max / 1000) else {
            throw error("“\(key)” is a time above 0, and below 24 days")
        }
        return seconds
    }

    /// How libpq reaches a database; without a password if others may read the file.
    func conninfo() throws(ConfigurationError) -> String {
        let conninfo = try nonEmpty()
        // The error does not show it, as it may hold a password.
        guard JobSettings.isReadable(conninfo: conninfo) else {
            throw error(
                "“\(key)” is host=… dbname=… user=… or postgresql://user@host/database, with keywords that libpq "
                    + "knows; in a password there, @ is %40 and / is %2F")
        }
        guard isReadableByOthers, Conninfo.holdsPassword(conninfo) else { return conninfo }
        throw error(
            "a password stands in a file that others may read; run: chmod o-r \(file), or keep the password in "
                + "~/.pgpass")
    }

    /// How far before a watermark a pull begins.
    func overlap() throws(ConfigurationError) -> SourceQuery.Overlap {
        if let count = Int64(text), count >= 0 { return .numbers(count) }
        return .time(try duration())
    }

    /// A folder's absolute path.
    func folder() throws(ConfigurationError) -> String {
        guard text.hasPrefix("/") else { throw error("“\(key)” is a path that begins with /") }
        return text
    }

    func readableFile() throws(ConfigurationError) -> String {
        let path = try nonEmpty()
        do {
            _ = try RegularFile(path)
        } catch {
            throw self.error("“\(path)” \(error)")
        }
        return path
    }

    /// The content of a text file of up to 1 MiB.
    func textOfFile() throws(ConfigurationError) -> String {
        let longest = 1 << 20
        let path = try nonEmpty()
        let data: Data
        do {
            data = try RegularFile(path).read(upTo: longest + 1)
        } catch {
            throw self.error("“\(path)” \(error)")
        }
        guard data.count <= longest, let text = String(data: data, encoding: .utf8),
            text.contains(where: { !$0.isWhitespace }), !text.contains("\0")
        else { throw error("“\(path)” is empty, no text in UTF-8, or longer than \(longest >> 10) KiB") }
        return text
    }

    /// The address of an HTTP server.
    func address() throws(ConfigurationError) -> String {
        guard let address = URL(string: text), ["http", "https"].contains(address.scheme), address.host() != nil
        else { throw error("“\(key)” is an address such as https://example.com/path, not “\(text)”") }
        return text
    }

    /// The URL of a folder on an HTTP server, which holds pages.
    func folderAddress() throws(ConfigurationError) -> String {
        let address = try address()
        guard !address.contains(where: { $0 == "?" || $0 == "#" }) else {
            throw error("“\(key)” is the address of a folder, without “?” and “#”, not “\(text)”")
        }
        return address
    }

    func moment() throws(ConfigurationError) -> Date {
        guard let moment = Moment.parse(text) else {
            throw error("“\(key)” is a moment such as 2026-11-01T00:00:00Z, not “\(text)”")
        }
        return moment
    }

    func timeZone() throws(ConfigurationError) -> TimeZone {
        // To Foundation an abbreviation is one zone of America or Europe, but CST is also China's.
        if let first = TimeZone.abbreviationDictionary[text], first != text {
            throw error("“\(text)” may mean several time zones: write \(first), or another such as Asia/Shanghai")
        }
        guard let zone = TimeZone(identifier: text) else {
            throw error(
                "“\(key)” is a time zone such as Asia/Shanghai, not “\(text)”"
                    + NearestName.suggestion(for: text, in: TimeZone.knownTimeZoneIdentifiers))
        }
        return zone
    }

    /// One of a few words.
    func choice<Value>(_ choices: [String: Value]) throws(ConfigurationError) -> Value {
        guard let value = choices[text] else {
            let words = choices.keys.sorted().joined(separator: " or ")
            throw error(
                "“\(key)” is \(words), not “\(text)”\(NearestName.suggestion(for: text, in: choices.keys))")
        }
        return value
    }
}
