import COpenSSL

/// A whole number of any size.
struct BigNumber: ~Copyable {
    let pointer: OpaquePointer

    init() {
        pointer = demanded(BN_new(), "make a number")
    }

    /// The number that these bytes write, the highest first.
    init(_ bytes: [UInt8]) {
        pointer = demanded(BN_bin2bn(bytes, Int32(bytes.count), nil), "make a number")
    }

    init(copying other: borrowing BigNumber) {
        pointer = demanded(BN_dup(other.pointer), "make a number")
    }

    deinit { BN_free(pointer) }

    /// As few bytes as the number needs, the highest first.
    var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (Int(BN_num_bits(pointer)) + 7) / 8)
        BN_bn2bin(pointer, &bytes)
        return bytes
    }

    /// So many bytes, with leading zeros.
    func bytes(count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        precondition(BN_bn2binpad(pointer, &bytes, Int32(count)) == Int32(count), "the number needs more bytes")
        return bytes
    }
}

/// What is calculated with numbers; one for each thread.
struct Arithmetic: ~Copyable {
    let context = demanded(BN_CTX_new(), "calculate")

    deinit { BN_CTX_free(context) }

    func product(_ a: borrowing BigNumber, _ b: borrowing BigNumber) -> BigNumber {
        let result = BigNumber()
        demand(BN_mul(result.pointer, a.pointer, b.pointer, context), "multiply")
        return result
    }

    func product(_ a: borrowing BigNumber, _ b: borrowing BigNumber, modulo m: borrowing BigNumber) -> BigNumber {
        let result = BigNumber()
        demand(BN_mod_mul(result.pointer, a.pointer, b.pointer, m.pointer, context), "multiply")
        return result
    }

    func sum(_ a: borrowing BigNumber, _ b: borrowing BigNumber, modulo m: borrowing BigNumber) -> BigNumber {
        let result = BigNumber()
        demand(BN_mod_add(result.pointer, a.pointer, b.pointer, m.pointer, context), "add")
        return result
    }

    func remainder(_ a: borrowing BigNumber, modulo m: borrowing BigNumber) -> BigNumber {
        let result = BigNumber()
        demand(BN_nnmod(result.pointer, a.pointer, m.pointer, context), "divide")
        return result
    }

    func inverse(_ a: borrowing BigNumber, modulo m: borrowing BigNumber) -> BigNumber {
        let result = BigNumber()
        _ = demanded(BN_mod_inverse(result.pointer, a.pointer, m.pointer, context), "find an inverse")
        return result
    }
}
