import Foundation

/// The header of a signed payload: how it was signed, and by whose certificates.
struct JWSHeader: Sendable {
    /// The certificate whose key signed, in DER form.
    let leaf: [UInt8]
    let intermediate: [UInt8]

    private static let certificates = 3

    /// - Throws: if the header is anything but ES256 with three certificates. The third, a root, is ignored: a chain
    ///   must end in a root of our own.
    init(_ json: Data) throws(JWSError) {
        guard let fields = try? JSONDecoder().decode(Fields.self, from: json) else {
            throw .malformedHeader("it is not a JSON object, or one of its fields has another type")
        }
        guard fields.alg == "ES256" else { throw .algorithm(String((fields.alg ?? "none").prefix(20))) }
        guard !fields.hasCritical else { throw .malformedHeader("it has critical extensions (crit)") }
        guard let chain = fields.x5c else { throw .certificateCount(0) }
        guard chain.count == Self.certificates else { throw .certificateCount(chain.count) }
        guard let leaf = Data(base64Encoded: chain[0]), let intermediate = Data(base64Encoded: chain[1]) else {
            throw .malformedHeader("a certificate in x5c is not base64")
        }
        self.leaf = Array(leaf)
        self.intermediate = Array(intermediate)
    }

    private struct Fields: Decodable {
        enum CodingKeys: String, CodingKey {
            case alg, x5c, crit
        }

        let alg: String?
        let x5c: [String]?
        let hasCritical: Bool

        init(from decoder: any Decoder) throws {
            let header = try decoder.container(keyedBy: CodingKeys.self)
            alg = try header.decodeIfPresent(String.self, forKey: .alg)
            x5c = try header.decodeIfPresent([String].self, forKey: .x5c)
            hasCritical = header.contains(.crit)
        }
    }
}
