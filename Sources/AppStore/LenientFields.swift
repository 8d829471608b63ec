import Foundation

/// Reads Apple's fields whatever JSON type they come in: numbers come as strings and, in old answers, strings as
/// numbers. A field that is missing, null, or of no use reads as nothing; none of this throws.
extension KeyedDecodingContainer {
    /// The field as text; a number as its digits, a Boolean as `true` or `false`. Empty text is nothing, as is text
    /// with a NUL in it, which no database takes.
    func text(_ key: Key) -> String? {
        let text: String?
        do {
            // Most fields of most rows are absent: one look must be enough to know it.
            text = try decodeIfPresent(String.self, forKey: key)
        } catch {
            text = scalarText(key)
        }
        guard let text, !text.isEmpty, !text.utf8.contains(0) else { return nil }
        return text
    }

    /// The field as an integer.
    func integer(_ key: Key) -> Int64? {
        text(key).flatMap { Int64($0) ?? Int64($0.trimmingCharacters(in: .whitespaces)) }
    }

    /// The field as a Boolean: `true`, `1`, and such, in any JSON type.
    func flag(_ key: Key) -> Bool? {
        switch text(key)?.lowercased() {
        case "true", "1", "yes": true
        case "false", "0", "no": false
        default: nil
        }
    }

    /// The date in the first of the fields that holds one; the field with milliseconds should stand first.
    func date(_ keys: Key...) -> Date? {
        for key in keys {
            if let text = text(key), let date = AppleDate.text(text) { return date }
        }
        return nil
    }

    /// The date in a field of milliseconds since 1970, which signed payloads have as a number.
    func milliseconds(_ key: Key) -> Date? {
        if let number = try? decodeIfPresent(Int64.self, forKey: key) { return AppleDate.milliseconds(number) }
        return date(key)
    }

    /// A number of a signed payload.
    func number(_ key: Key) -> Int64? {
        (try? decodeIfPresent(Int64.self, forKey: key)) ?? integer(key)
    }

    /// Whether the field is there and says something, readable or not.
    func says(_ key: Key) -> Bool {
        guard contains(key), (try? decodeNil(forKey: key)) == false else { return false }
        return (try? decode(String.self, forKey: key))?.isEmpty != true
    }

    /// A number or Boolean as text. Integers come first: a `Double` would round an id of 18 digits.
    private func scalarText(_ key: Key) -> String? {
        if let integer = try? decodeIfPresent(Int64.self, forKey: key) { return String(integer) }
        if let integer = try? decodeIfPresent(UInt64.self, forKey: key) { return String(integer) }
        if let number = try? decodeIfPresent(Decimal.self, forKey: key) { return "\(number)" }
        if let flag = try? decodeIfPresent(Bool.self, forKey: key) { return String(flag) }
        return nil
    }
}

/// A list of Apple's, which iOS 6 answers give as one object.
struct ListOrOne<Element: Decodable>: Decodable {
    private enum NoKey: CodingKey {}

    let elements: [Element]

    /// Throws where there is neither a list nor an object.
    init(from decoder: any Decoder) throws {
        guard var list = try? decoder.unkeyedContainer() else {
            _ = try decoder.container(keyedBy: NoKey.self)
            elements = [try Element(from: decoder)]
            return
        }
        var elements: [Element] = []
        while !list.isAtEnd { elements.append(try list.decode(Element.self)) }
        self.elements = elements
    }
}
