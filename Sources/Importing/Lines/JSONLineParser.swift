import Foundation
import Reconciliation

/// Reads the lines of a JSON Lines file, one object each.
struct JSONLineParser {
    private let fields: [String: ImportField]
    private let decoder = JSONDecoder()

    /// Many programs round numbers beyond this one.
    private static let greatestNumber: Int64 = 1 << 53

    init(kind: ImportKind) {
        fields = kind.fieldsByColumn
    }

    func parse(_ bytes: UnsafeRawBufferPointer) -> ParsedLine {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return ParsedLine(problem: LineProblem(.notText, "the line is not UTF-8"))
        }
        guard let object = try? decoder.decode([String: JSONValue].self, from: Data(text.utf8)) else {
            return ParsedLine(problem: LineProblem(.malformed, "the line is no JSON object"))
        }
        guard Self.memberCount(bytes) == object.count else {
            return ParsedLine(problem: LineProblem(.malformed, "a key is there twice, and which is meant nobody knows"))
        }
        var line = ParsedLine()
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            do throws(LineProblem) {
                guard let field = fields[name] else {
                    throw LineProblem(.unknownField, "“\(name.prefix(100))” is no field of such a line")
                }
                line.fields[field] = try Self.text(of: value, field, in: text)
            } catch {
                line.problem = line.problem ?? error
            }
        }
        return line
    }

    /// How many members an object's text has, since a decoder keeps only one of each name: colons of the first level,
    /// outside of strings.
    private static func memberCount(_ json: UnsafeRawBufferPointer) -> Int {
        var (count, depth, isText, isEscaped) = (0, 0, false, false)
        for byte in json {
            if isText {
                isText = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ":") where depth == 1: count += 1
            default: break
            }
        }
        return count
    }

    /// Whether the text has a number with exactly these digits, without a fraction or an exponent.
    private static func isWritten(_ digits: String, in json: String) -> Bool {
        json.utf8.split { !"0123456789+-.eE".utf8.contains($0) }.contains { $0.elementsEqual(digits.utf8) }
    }

    /// - Parameter json: the whole line, which shows how a number is written.
    private static func text(
        of value: JSONValue, _ field: ImportField, in json: String
    ) throws(LineProblem) -> String? {
        switch value {
        case .null: return nil
        case .string(let text):
            guard !text.utf8.contains(0) else { throw LineProblem(.notText, "\(field.column) holds a NUL") }
            return text
        case .object, .array:
            guard field == .device else { throw LineProblem(.badValue, "\(field.column) is no text or number") }
            guard let text = value.text else { throw LineProblem(.notText, "device holds a NUL") }
            return text
        case .bool: throw LineProblem(.badValue, "\(field.column) is no text or number")
        case .integer(let number):
            guard number.magnitude <= greatestNumber else {
                throw LineProblem(
                    .badValue, "\(field.column) is a number that many programs round; write it as a string")
            }
            // 2e15 was rounded by something, though a decoder makes digits of it.
            guard !field.isTransactionID || isWritten(String(number), in: json) else {
                throw LineProblem(.badValue, "\(field.column) is not written by its digits; write it as a string")
            }
            return String(number)
        case .number(let number):
            guard field.isTime else { throw LineProblem(.badValue, "\(field.column) is no whole number") }
            return "\(number)"
        }
    }
}
