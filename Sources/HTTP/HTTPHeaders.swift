/// The header fields of a request or a response, in order. Names are compared without regard to case.
public struct HTTPHeaders: Sendable, Equatable {
    /// A name and its value, as they were sent.
    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Ignores the case of names.
        public static func == (left: Field, right: Field) -> Bool {
            left.isNamed(right.name) && left.value == right.value
        }

        /// Compares without regard to the case of ASCII letters; names hold no others.
        func isNamed(_ other: String) -> Bool {
            name.utf8.count == other.utf8.count
                && zip(name.utf8, other.utf8).allSatisfy { $0 == $1 || $0.lowercasedASCII == $1.lowercasedASCII }
        }
    }

    public private(set) var fields: [Field]

    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// The value of the first field with that name.
    public func first(_ name: String) -> String? {
        fields.first { $0.isNamed(name) }?.value
    }

    /// The values of all fields with that name, in order.
    public func all(_ name: String) -> [String] {
        fields.filter { $0.isNamed(name) }.map(\.value)
    }

    /// The same as `first`.
    public subscript(_ name: String) -> String? { first(name) }

    /// Adds a field; one of the same name stays.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0.0, value: $0.1) })
    }
}

extension UInt8 {
    fileprivate var lowercasedASCII: UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self
    }
}
