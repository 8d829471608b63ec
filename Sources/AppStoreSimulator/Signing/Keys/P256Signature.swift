import COpenSSL

/// ECDSA on the curve P-256 with a nonce that follows from key and digest: OpenSSL 3.0 draws one from the system's
/// randomness, and the same world would not be made twice.
enum P256Signature {
    /// 64 bytes: r, then s.
    static func make(over digest: [UInt8], scalar: [UInt8]) -> [UInt8] {
        let curve = Curve.p256
        let arithmetic = Arithmetic()
        let nonce = BigNumber(nonce(digest, scalar))
        let order = BigNumber(copying: curve.order)
        let r = arithmetic.remainder(curve.abscissa(of: nonce, arithmetic), modulo: order)
        let signed = arithmetic.sum(
            BigNumber(digest), arithmetic.product(r, BigNumber(scalar), modulo: order), modulo: order)
        let s = arithmetic.product(arithmetic.inverse(nonce, modulo: order), signed, modulo: order)
        return r.bytes(count: 32) + s.bytes(count: 32)
    }

    /// Less than the curve's order, since the highest bit is not set.
    private static func nonce(_ digest: [UInt8], _ scalar: [UInt8]) -> [UInt8] {
        var nonce = Digest.sha256(scalar + digest)
        nonce[0] &= 0x7F
        return nonce
    }
}
