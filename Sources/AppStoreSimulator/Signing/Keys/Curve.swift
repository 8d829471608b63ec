import COpenSSL

/// The curve that OpenSSL calls prime256v1.
final class Curve: Sendable {
    static let p256 = Curve()

    /// Safe to share: nothing changes it after it is made.
    nonisolated(unsafe) private let group: OpaquePointer

    private init() {
        group = demanded(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), "find the curve P-256")
    }

    deinit { EC_GROUP_free(group) }

    var order: BigNumber {
        let order = BigNumber()
        demand(EC_GROUP_get_order(group, order.pointer, nil), "find the curve's order")
        return order
    }

    /// The x of so many times the curve's generator.
    func abscissa(of factor: borrowing BigNumber, _ arithmetic: borrowing Arithmetic) -> BigNumber {
        let point = multiple(factor, arithmetic)
        defer { EC_POINT_free(point) }
        let x = BigNumber()
        demand(
            EC_POINT_get_affine_coordinates(group, point, x.pointer, nil, arithmetic.context), "find a coordinate")
        return x
    }

    /// The public key of a secret number, not compressed.
    func publicPoint(of scalar: borrowing BigNumber) -> [UInt8] {
        let arithmetic = Arithmetic()
        let point = multiple(scalar, arithmetic)
        defer { EC_POINT_free(point) }
        var bytes = [UInt8](repeating: 0, count: 65)
        let length = EC_POINT_point2oct(
            group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, arithmetic.context)
        precondition(length == bytes.count, "a point of P-256 has 65 bytes")
        return bytes
    }

    /// So many times the curve's generator; the caller frees it.
    private func multiple(_ factor: borrowing BigNumber, _ arithmetic: borrowing Arithmetic) -> OpaquePointer {
        let point = demanded(EC_POINT_new(group), "make a point")
        demand(EC_POINT_mul(group, point, factor.pointer, nil, nil, arithmetic.context), "multiply a point")
        return point
    }
}
