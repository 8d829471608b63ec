import Foundation

/// Reads Apple's fields whatever JSON type they have: numbers come as strings and, in old answers, strings as numbers.
/// A field that is missing, null or unusable reads as `nil`; nothing here throws.
extension JSONObject {
    /// The field as text; a number as its digits, a Boolean as `true` or `false`. Empty text reads as `nil`.
    func text(_ name: StaticString) -> String? {
        guard let text = scalar(name), !text.isEmpty else { return nil }
        return text
    }

    /// The field as an integer.
    func integer(_ name: StaticString) -> Int64? {
        text(name).flatMap { Int64($0) ?? Int64($0.trimmingCharacters(in: .whitespaces)) }
    }

    /// The field as a Boolean: `true`, `1`, and such, in any JSON type.
    func flag(_ name: StaticString) -> Bool? {
        switch text(name)?.lowercased() {
        case "true", "1", "yes": true
        case "false", "0", "no": false
        default: nil
        }
    }

    /// The date in the first of the fields that holds one; name the field with milliseconds first.
    func date(_ names: StaticString...) -> Date? {
        for name in names {
            if let text = text(name), let date = AppleDate.text(text) { return date }
        }
        return nil
    }
}
