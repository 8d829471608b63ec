import COpenSSL

/// ES256 as in a JWS (RFC 7518, section 3.4): ECDSA on the curve P-256 over SHA-256, as the 32 bytes of r and the 32
/// of s.
extension SigningKey {
    private static let half = 32

    /// Signs bytes. The same bytes give the same signature if the key works in `RepeatableRandom.library`.
    func rawSignature(over bytes: [UInt8]) -> [UInt8] {
        RepeatableRandom.rewind()
        let der = signature(over: bytes, .sha256)
        let pair = der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return demanded(d2i_ECDSA_SIG(nil, &position, buffer.count), "read its own signature")
        }
        defer { ECDSA_SIG_free(pair) }
        return Self.bytes(ECDSA_SIG_get0_r(pair)) + Self.bytes(ECDSA_SIG_get0_s(pair))
    }

    /// As `isGenuine`, for a signature in the form of `rawSignature(over:)`.
    func isGenuine(raw signature: [UInt8], over bytes: [UInt8]) -> Bool {
        guard signature.count == 2 * Self.half else { return false }
        let pair = demanded(ECDSA_SIG_new(), "verify")
        defer { ECDSA_SIG_free(pair) }
        // From here on the pair owns the numbers.
        demand(
            ECDSA_SIG_set0(pair, Self.number(signature.prefix(Self.half)), Self.number(signature.suffix(Self.half))),
            "verify")
        return isGenuine(OpenSSLBytes.encoding { i2d_ECDSA_SIG(pair, $0) }, over: bytes, .sha256)
    }

    private static func bytes(_ number: OpaquePointer?) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: half)
        precondition(BN_bn2binpad(number, &bytes, Int32(half)) == Int32(half), "a number of P-256 has 32 bytes")
        return bytes
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> OpaquePointer {
        bytes.withUnsafeBufferPointer { demanded(BN_bin2bn($0.baseAddress, Int32($0.count), nil), "read a number") }
    }
}
