public import Foundation

extension JSONEncoder {
    /// How the program writes JSON of its own: keys in snake case and in order, times in UTC with milliseconds. The
    /// keys of a dictionary stay as they are.
    public static func snakeCase(isPretty: Bool = false) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        encoder.keyEncodingStrategy = .custom { path in SnakeKey(path.last?.stringValue ?? "") }
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.inMilliseconds)
        }
        return encoder
    }
}

extension JSONDecoder {
    /// Reads what the program writes: coding keys are in snake case.
    public static func snakeCase() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            let date = (try? milliseconds.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
            if let date { return date }
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no time as ISO 8601 writes it")
        }
        return decoder
    }
}

extension String {
    /// A value as JSON, as `JSONEncoder.snakeCase` writes it.
    public init(json value: some Encodable, isPretty: Bool = false) throws {
        self.init(decoding: try JSONEncoder.snakeCase(isPretty: isPretty).encode(value), as: UTF8.self)
    }
}

extension Date {
    /// In UTC with milliseconds, as the program writes times in JSON.
    public var inMilliseconds: String { formatted(milliseconds) }
}

private let milliseconds = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

private struct SnakeKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    /// Converts a name of this program's, which is ASCII. This has to be fast: a case has some forty.
    init(_ camel: String) {
        var text: [UInt8] = []
        text.reserveCapacity(camel.utf8.count + 4)
        var previousIsUpper = true
        for letter in camel.utf8 {
            let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter)
            if isUpper, !previousIsUpper { text.append(UInt8(ascii: "_")) }
            previousIsUpper = isUpper
            text.append(isUpper ? letter | 0x20 : letter)
        }
        stringValue = String(decoding: text, as: UTF8.self)
    }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
