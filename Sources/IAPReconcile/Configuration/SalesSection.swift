import Verification

/// The section `[sales]` while it is being read: the access to Apple's sales reports.
struct SalesSection {
    static let name = "sales"

    var vendorNumber: Int64?
    var issuerID: String?
    var keyID: String?
    var key: GivenSecret<Secret>?

    /// Keys that are of no use without others.
    struct Incomplete: Error {
        let missing: [String]
    }

    /// `nil` if the key is left alone, since Apple is not asked.
    func settings() throws(Incomplete) -> SalesAccess? {
        let missing = [
            vendorNumber == nil ? "vendor_number" : nil, issuerID == nil ? "issuer_id" : nil,
            keyID == nil ? "key_id" : nil, key == nil ? "key_file" : nil,
        ].compactMap(\.self)
        guard let vendorNumber, let issuerID, let keyID, let key else { throw Incomplete(missing: missing) }
        return key.value.map {
            SalesAccess(vendorNumber: "\(vendorNumber)", issuerID: issuerID, keyID: keyID, key: $0)
        }
    }
}
