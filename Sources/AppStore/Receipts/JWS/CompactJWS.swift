import Foundation

/// The parts of a JWS in its compact form: three texts of base64url separated by full stops (RFC 7515, section 3.1).
/// Nothing in it is verified.
struct CompactJWS: Sendable {
    let bytes: [UInt8]
    private let firstStop: Int
    private let secondStop: Int

    /// - Parameter limit: the most bytes that are accepted.
    init(_ text: some Collection<UInt8>, limit: Int) throws(JWSError) {
        guard text.count <= limit else { throw .tooLarge(limit: limit) }
        let bytes = Self.trimmed(text)
        guard !bytes.isEmpty else { throw .notCompact("it is empty") }
        let stops = Self.fullStops(bytes)
        guard stops.count == 2 else { throw .notCompact("it has \(stops.count + 1) parts in place of three") }
        firstStop = stops[0]
        secondStop = stops[1]
        self.bytes = bytes
    }

    /// The header as it was sent, in base64url.
    var header: ArraySlice<UInt8> { bytes[..<firstStop] }

    func decodedHeader() throws(JWSError) -> Data { Data(try decoded(0..<firstStop, "header")) }

    func payload() throws(JWSError) -> [UInt8] { try decoded(firstStop + 1..<secondStop, "payload") }

    func signature() throws(JWSError) -> [UInt8] {
        let signature = try decoded(secondStop + 1..<bytes.count, "signature")
        guard signature.count == ES256.length else {
            throw .malformedSignature("it has \(signature.count) bytes in place of \(ES256.length)")
        }
        return signature
    }

    /// What was signed: header and payload as they were sent.
    func withSigningInput<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        bytes.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<secondStop])) }
    }

    private func decoded(_ range: Range<Int>, _ part: String) throws(JWSError) -> [UInt8] {
        guard let bytes = bytes.withUnsafeBufferPointer({ Base64URL.decode($0[range]) }) else {
            throw .notCompact("its \(part) is not base64url")
        }
        return bytes
    }

    private static func fullStops(_ bytes: [UInt8]) -> [Int] {
        bytes.withUnsafeBufferPointer { bytes in
            var stops: [Int] = []
            for index in bytes.indices where bytes[index] == UInt8(ascii: ".") { stops.append(index) }
            return stops
        }
    }

    /// The text without the white space and line ends that files and forms put around it.
    private static func trimmed(_ text: some Collection<UInt8>) -> [UInt8] {
        var bytes = Array(text)
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        bytes.removeFirst(bytes.prefix { $0 <= 0x20 }.count)
        return bytes
    }
}
