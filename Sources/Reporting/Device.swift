import Foundation

/// What a client said of its device.
enum Device {
    /// The fields that everyone sends, otherwise the JSON as it is; cut, since a client may send anything.
    static func text(_ json: String?) -> String {
        guard let json else { return "" }
        guard let object = try? JSONDecoder().decode([String: Field].self, from: Data(json.utf8)) else {
            return Printable.cut(json, to: longest)
        }
        let known = ["model", "name", "os"].compactMap { object[$0]?.text }
        return Printable.cut(known.isEmpty ? json : known.joined(separator: ", "), to: longest)
    }

    private static let longest = 300

    private enum Field: Decodable {
        case known(String)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self = (try? container.decode(String.self)).map { .known($0) } ?? .other
        }

        var text: String? {
            if case .known(let text) = self { text } else { nil }
        }
    }
}
