import COpenSSL

/// A key pair that follows from random numbers, and so from a seed. What it signs is always signed alike.
final class SigningKey: Sendable {
    enum Kind {
        case rsa(bits: Int)
        case p256
    }

    /// Safe to share: nothing changes it after it is made, and OpenSSL locks what it computes late.
    nonisolated(unsafe) private let pointer: OpaquePointer
    /// The secret number of a key on the curve P-256; a key of RSA has none.
    private let scalar: [UInt8]?

    init(_ kind: Kind, _ random: SeededRandom) {
        var random = random
        switch kind {
        case .rsa(let bits):
            pointer = Self.privateKey(EVP_PKEY_RSA, RSANumbers.der(bits: bits, &random))
            scalar = nil
        case .p256:
            // Less than the curve's order in all but one of 2³² cases; then the highest bit goes.
            var number = random.bytes(32)
            number[0] &= 0x7F
            pointer = Self.privateKey(EVP_PKEY_EC, Self.curveKey(number))
            scalar = number
        }
    }

    deinit { EVP_PKEY_free(pointer) }

    /// PKCS #1 v1.5 or, on the curve, the two numbers in DER form.
    func signature(over bytes: [UInt8], _ digest: Digest) -> [UInt8] {
        if let scalar {
            let numbers = P256Signature.make(over: digest(bytes), scalar: scalar)
            return DERWriter.sequence {
                $0.add(integerBytes: Array(numbers.prefix(32)))
                $0.add(integerBytes: Array(numbers.suffix(32)))
            }
        }
        let context = demanded(EVP_MD_CTX_new(), "sign")
        defer { EVP_MD_CTX_free(context) }
        demand(EVP_DigestSignInit(context, nil, digest.function, nil, pointer), "begin to sign")
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(pointer)))
        var length = signature.count
        demand(EVP_DigestSign(context, &signature, &length, bytes, bytes.count), "sign")
        return Array(signature.prefix(length))
    }

    /// ES256 as in a JWS: 64 bytes, one number after the other.
    func rawSignature(over bytes: [UInt8]) -> [UInt8] {
        P256Signature.make(over: Digest.sha256(bytes), scalar: demanded(scalar, "sign with a key of RSA as on a curve"))
    }

    /// Whether this key made a signature in the form of `signature(over:_:)`.
    func isGenuine(_ signature: [UInt8], over bytes: [UInt8], _ digest: Digest) -> Bool {
        let context = demanded(EVP_MD_CTX_new(), "verify")
        defer { EVP_MD_CTX_free(context) }
        demand(EVP_DigestVerifyInit(context, nil, digest.function, nil, pointer), "begin to verify")
        let isGenuine = EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
        ERR_clear_error()
        return isGenuine
    }

    /// As `isGenuine`, for a signature in the form of `rawSignature(over:)`.
    func isGenuine(raw signature: [UInt8], over bytes: [UInt8]) -> Bool {
        guard signature.count == 64 else { return false }
        let encoded = DERWriter.sequence {
            $0.add(integerBytes: Array(signature.prefix(32)))
            $0.add(integerBytes: Array(signature.suffix(32)))
        }
        return isGenuine(encoded, over: bytes, .sha256)
    }

    /// The public key as certificates hold it (SubjectPublicKeyInfo).
    var publicKey: [UInt8] {
        var buffer: UnsafeMutablePointer<UInt8>?
        let length = i2d_PUBKEY(pointer, &buffer)
        let bytes = demanded(buffer, "write a public key")
        defer { COpenSSL_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(length)))
    }

    /// What certificates call a signature of this key over SHA-256.
    var certificateAlgorithm: [UInt8] {
        DERWriter.sequence {
            $0.add(identifier: scalar == nil ? "1.2.840.113549.1.1.11" : "1.2.840.10045.4.3.2")
            if scalar == nil { $0.addNull() }
        }
    }

    /// The private key in PKCS #8 form, as the `.p8` files of App Store Connect.
    var pem: String {
        let buffer = demanded(BIO_new(BIO_s_mem()), "write a key")
        defer { BIO_free(buffer) }
        demand(PEM_write_bio_PKCS8PrivateKey(buffer, pointer, nil, nil, 0, nil, nil), "write a key")
        var contents: UnsafePointer<UInt8>?
        let length = COpenSSL_contents(buffer, &contents)
        return String(decoding: UnsafeBufferPointer(start: contents, count: length), as: UTF8.self)
    }

    private static func privateKey(_ type: Int32, _ der: [UInt8]) -> OpaquePointer {
        der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return demanded(d2i_PrivateKey(type, nil, &position, buffer.count), "read its own key")
        }
    }

    /// `ECPrivateKey` of RFC 5915. With the public key, without which GnuTLS takes none.
    private static func curveKey(_ scalar: [UInt8]) -> [UInt8] {
        DERWriter.sequence {
            $0.add(integer: 1)
            $0.add(DERWriter.Tag.octetString, scalar)
            $0.add(DERWriter.Tag.context(0)) { $0.add(identifier: "1.2.840.10045.3.1.7") }
            $0.add(DERWriter.Tag.context(1)) { $0.add(bits: Curve.p256.publicPoint(of: BigNumber(scalar))) }
        }
    }
}

/// The numbers of an RSA key in the form of PKCS #1.
private enum RSANumbers {
    static func der(bits: Int, _ random: inout SeededRandom) -> [UInt8] {
        let first = PrimeSearch.prime(bits: bits / 2, &random)
        let second = PrimeSearch.prime(bits: bits / 2, &random)
        let arithmetic = Arithmetic()
        let exponent = BigNumber([1, 0, 1])
        let firstLess = lessOne(first)
        let secondLess = lessOne(second)
        let secret = arithmetic.inverse(exponent, modulo: arithmetic.product(firstLess, secondLess))
        let numbers = [
            [], arithmetic.product(first, second).bytes, exponent.bytes, secret.bytes, first.bytes, second.bytes,
            arithmetic.remainder(secret, modulo: firstLess).bytes,
            arithmetic.remainder(secret, modulo: secondLess).bytes,
            arithmetic.inverse(second, modulo: first).bytes,
        ]
        return DERWriter.sequence { for number in numbers { $0.add(integerBytes: number) } }
    }

    private static func lessOne(_ number: borrowing BigNumber) -> BigNumber {
        let less = BigNumber(copying: number)
        BN_sub_word(less.pointer, 1)
        return less
    }
}
