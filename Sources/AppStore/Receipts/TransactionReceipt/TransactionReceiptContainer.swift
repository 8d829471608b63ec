/// The property list around an iOS 6 style receipt: what was signed, and the signature.
struct TransactionReceiptContainer {
    /// The octets that were signed, which are a property list themselves.
    let purchaseInfo: [UInt8]
    let signature: TransactionReceiptSignature?
    let receipt: TransactionReceipt

    /// - Throws: `truncated`, `payloadMalformed`, or `notApples` for a property list that is no receipt.
    ///
    /// Accepts only the keys and environments that receipts have, for nobody signed these: a changed one must not pass
    /// for one that was left out.
    init(_ bytes: [UInt8]) throws(ReceiptError) {
        let list = try PropertyList(bytes)
        let known: Set = ["signature", "purchase-info", "environment", "pod", "signing-status"]
        if let stray = list.entries.first(where: { !known.contains($0.key) }) {
            throw .payloadMalformed(position: stray.value.position)
        }
        guard let purchaseInfo = try list.data("purchase-info") else {
            throw .notApples("the property list has no purchase-info")
        }
        let environment = try list.text("environment")
        if let environment, environment != "Sandbox", environment != "Production" {
            throw .payloadMalformed(position: list.entries["environment"]?.position ?? 0)
        }
        self.purchaseInfo = purchaseInfo
        receipt = TransactionReceipt(fields: try Self.fields(purchaseInfo), claimedEnvironment: environment)
        signature = try list.data("signature").map { blob throws(ReceiptError) in
            guard let signature = TransactionReceiptSignature(blob) else {
                throw .payloadMalformed(position: list.entries["signature"]?.position ?? 0)
            }
            return signature
        }
    }

    private static func fields(_ purchaseInfo: [UInt8]) throws(ReceiptError) -> [String: String] {
        let list = try PropertyList(purchaseInfo)
        var fields: [String: String] = [:]
        for key in list.entries.keys { fields[key] = try list.text(key) }
        return fields
    }
}

/// The signature's octets: a version, the signature itself, and the signer's certificate after its length.
struct TransactionReceiptSignature {
    /// 2 with 1024-bit keys, 3 with 2048-bit ones.
    let version: UInt8
    let signature: [UInt8]
    let certificate: [UInt8]

    /// `nil` if the octets are not exactly that.
    init?(_ blob: [UInt8]) {
        guard let version = blob.first, version == 2 || version == 3 else { return nil }
        let length = version == 2 ? 128 : 256
        guard blob.count > 1 + length + 4 else { return nil }
        let certificateLength = blob[(1 + length)..<(1 + length + 4)].reduce(0) { $0 << 8 | Int($1) }
        guard blob.count == 1 + length + 4 + certificateLength else { return nil }
        self.version = version
        signature = Array(blob[1..<(1 + length)])
        certificate = Array(blob.suffix(certificateLength))
    }
}
