import Foundation
import Reconciliation

/// Any JSON value; numbers keep their digits.
enum JSONValue: Codable, Hashable {
    case null
    case bool(Bool)
    case string(String)
    case integer(Int64)
    case number(Decimal)
    case array([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if container.decodeNil() {
            self = .null
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? container.decode(Decimal.self) {
            self = .number(number)
        } else if let array = try? container.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .string(let text): try container.encode(text)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        }
    }

    /// The text that PostgreSQL takes for jsonb; `nil` if it holds a NUL, which jsonb can't.
    var text: String? {
        holdsNUL ? nil : try? String(json: self)
    }

    private var holdsNUL: Bool {
        switch self {
        case .string(let text): text.utf8.contains(0)
        case .array(let array): array.contains(where: \.holdsNUL)
        case .object(let object): object.contains { $0.key.utf8.contains(0) || $0.value.holdsNUL }
        case .null, .bool, .integer, .number: false
        }
    }
}
