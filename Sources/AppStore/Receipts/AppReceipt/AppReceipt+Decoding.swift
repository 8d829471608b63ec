extension AppReceipt {
    /// Decodes the payload of an app receipt: a set of attributes, each a type, a version and a value.
    ///
    /// A value that decides nothing and can't be read passes for absent, and an entry that can't be read is one entry:
    /// neither may hide what else the customer bought.
    ///
    /// - Throws: `payloadMalformed` with the byte of the payload, also if bytes follow the set.
    init(payload: [UInt8]) throws(ReceiptError) {
        do throws(BERError) {
            var receipt = AppReceipt()
            try ReceiptAttribute.read(try Self.unwrapped(payload)) { attribute throws(BERError) in
                try receipt.take(attribute)
            }
            self = receipt
        } catch {
            throw .payloadMalformed(position: error.position)
        }
    }

    /// Some tools wrap the payload in an octet string once more.
    private static func unwrapped(_ payload: [UInt8]) throws(BERError) -> BERReader {
        var reader = BERReader(payload)
        guard let tag = reader.nextTag, tag == BERTag.octetString || tag == BERTag.segmentedOctetString else {
            return reader
        }
        let inner = try reader.octets(of: try reader.next())
        guard reader.isAtEnd else { throw reader.malformed(at: reader.position) }
        return inner
    }

    private mutating func take(_ attribute: ReceiptAttribute) throws(BERError) {
        var attribute = attribute
        switch attribute.type {
        case 0: receiptType = try attribute.text()
        case 1: appID = try? attribute.integer()
        case 2:
            bundleIDOctets = attribute.octets
            bundleID = try attribute.text()
        case 3: applicationVersion = try? attribute.text()
        case 4: opaqueValue = attribute.octets
        case 5: sha1Hash = attribute.octets
        case 12: creationDate = try attribute.date()
        case 15: downloadID = try? attribute.integer()
        case 16: versionExternalIdentifier = try? attribute.integer()
        case 17: purchases.append(InAppPurchase(attribute))
        case 18: originalPurchaseDate = try? attribute.date()
        case 19: originalApplicationVersion = try? attribute.text()
        case 21: expirationDate = try? attribute.date()
        default: unknownAttributes[attribute.type, default: []].append(attribute.octets)
        }
    }
}

extension InAppPurchase {
    fileprivate init(_ attribute: ReceiptAttribute) {
        var purchase = InAppPurchase()
        do throws(BERError) {
            try ReceiptAttribute.read(attribute.value) { purchase.take($0) }
        } catch {
            purchase.unreadableFields.append("the entry")
        }
        self = purchase
    }

    private mutating func take(_ attribute: ReceiptAttribute) {
        var attribute = attribute
        do throws(BERError) {
            switch attribute.type {
            case 1701: quantity = try attribute.integer()
            case 1702: productID = try attribute.text()
            case 1703: transactionID = try attribute.text()
            case 1704: purchaseDate = try attribute.date()
            case 1705: originalTransactionID = try attribute.text()
            case 1706: originalPurchaseDate = try? attribute.date()
            case 1707: productType = try? attribute.integer()
            case 1708: expiresDate = try attribute.date()
            case 1710: itemID = try? attribute.integer()
            case 1711: webOrderLineItemID = try? attribute.integer()
            case 1712: cancellationDate = try attribute.date()
            case 1713: isTrialPeriod = (try? attribute.integer()).map { $0 != 0 }
            case 1719: isInIntroOfferPeriod = (try? attribute.integer()).map { $0 != 0 }
            case 1721: promotionalOfferID = try? attribute.text()
            default: unknownAttributes[attribute.type, default: []].append(attribute.octets)
            }
        } catch {
            let name = Self.name(of: attribute.type)
            // An upload may hold a field a million times.
            if !unreadableFields.contains(name) { unreadableFields.append(name) }
        }
    }

    /// The name that `verifyReceipt` gives the attributes without which a purchase can't be judged.
    private static func name(of type: Int64) -> String {
        switch type {
        case 1701: "quantity"
        case 1702: "product_id"
        case 1703: "transaction_id"
        case 1704: "purchase_date"
        case 1705: "original_transaction_id"
        case 1708: "expires_date"
        case 1712: "cancellation_date"
        default: String(type)
        }
    }
}
