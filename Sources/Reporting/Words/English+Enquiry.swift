import Reconciliation

extension English {
    func text(ofLabel label: EnquiryPhrase.Label) -> String {
        switch label {
        case .zone: "Times are of {zone}."
        case .cut: "More is known than is listed here; ask by a transaction id."
        case .comma: ", "
        case .transaction: "Transaction {id} of {app}, {environment}"
        case .transactionOfApple: "Transaction {id} of {app}, {environment}, as Apple tells it now"
        case .order: "Order {id} of {app}"
        case .user: "User {id}"
        case .claims: "Claims of what nobody has verified"
        case .receipts: "Receipts that are not verified"
        case .appleNotAsked: "Apple was not asked"
        case .appleAsked: "Apple, asked for {app}"
        case .product: "product"
        case .price: "price"
        case .purchased: "purchased"
        case .original: "original"
        case .place: "where"
        case .verifiedBy: "verified by"
        case .seen: "seen"
        case .claimLine: "claims"
        case .caseLine: "case"
        case .events: "events"
        case .verdict: "verdict"
        case .created: "created"
        case .userLine: "user"
        case .receiptsLine: "receipts"
        case .deliveries: "deliveries"
        case .receiptLine: "receipt {id}"
        case .refunded: "refunded"
        case .token: "token"
        }
    }

    func text(ofLine line: EnquiryPhrase.Line) -> String {
        switch line {
        case .quantity: ", quantity {n}"
        case .none: "none"
        case .inNoReceipt: "in no receipt"
        case .white: "white: paid and not claimed; known since {time}"
        case .confirmed: "confirmed on {nights}, last verified {time}"
        case .admitted: "admitted for {user}"
        case .black: "black: {delivery}"
        case .excluded: "excluded since {time}: {cause}"
        case .excludedAndRefunded: "; refunded {time}"
        case .delivered: "delivered{user}{order} {time} {who}{refund}"
        case .toUser: " to {user}"
        case .forOrder: " for order {order}"
        case .byServer: "by the app's server"
        case .byGrant: "by what the app's server granted"
        case .byDesk: "by the support desk"
        case .byImport: "import"
        case .refundedByApple: "; refunded by Apple {time}"
        case .sighting: "{how}, {who}{order}"
        case .candidate: "{user}: {evidence}"
        case .caseOpened: "{likelihood} likelihood, opened {time}"
        case .caseClosed: "closed as {how} {time} by {who}{note}"
        case .withNote: ": {note}"
        case .event: "{what} by {who}{run}"
        case .inRun: " in run {run}"
        case .detail: "; {name}: {value}"
        case .receiptsOfUser:
            "{receipts}: {waiting} waiting to be verified, {watched} with a purchase that nobody has claimed"
        case .claimOf: "{id} of {app}"
        case .uploaded: "uploaded {time}, {who}"
        case .waitsForNight: "It waits for its first night."
        case .triedOn: "{problem}{detail} It has been so for {nights}."
        }
    }

    func text(ofVerdict verdict: EnquiryPhrase.Verdict) -> String {
        switch verdict {
        case .isDelivered: "delivered at {time}"
        case .isDeliveredTo: "delivered to {user} at {time}"
        case .andRefunded: ", and refunded at {time}"
        case .isOwed: "paid, not delivered: {advice}"
        case .isContested:
            "paid, not delivered, and since the last night something speaks for others: {users}; ask who bought it, and say "
                + "resolve --user"
        case .isRedelivered: "paid, and left to the app's server to deliver to {user}: ordered {time} by {who}, {taken}"
        case .takenByServer: "taken by it last {time}"
        case .notTaken: "not taken by it yet"
        case .notJudged: "no run has judged it yet, or nothing of its type is looked at"
        case .isPending: "paid, not delivered: the client may still claim it; from {time} on it counts as lost"
        case .isRefunded: "refunded"
        case .isRefundedSince: "refunded at {time}"
        case .notOwed: "not owed: {cause}"
        case .isUnseen:
            """
            paid at {time}, as Apple says, and not delivered: no receipt with it came; take it into the ledger with \
            {command}
            """
        case .isWaiting: "not verified yet: a receipt for it waits for the night"
        case .isUnusable: "not verified: {problem} {action}"
        case .isUnpaidOrder: "not paid as far as is known: no purchase came for this order"
        case .nothingOpen:
            "no purchase of this user's is known to be open; {deliveries} listed, {receipts} to be verified"
        case .notPaid: "not paid as far as Apple knows"
        case .isUnknown: "unknown: no purchase, order or user is known by this id"
        case .several: "{total} transactions: {counts}"
        case .severalOwed: "{n} not delivered"
        case .severalDelivered: "{n} delivered"
        case .severalRefunded: "{n} refunded"
        case .severalOthers: "{n} other"
        }
    }

    func counted(_ number: Int, _ count: EnquiryCount) -> String {
        let (one, many) =
            switch count {
            case .nights: ("night", "nights")
            case .deliveries: ("delivery", "deliveries")
            case .waitingReceipts: ("receipt waits", "receipts wait")
            }
        return switch number {
        case 0: "no \(one)"
        case 1: "1 \(one)"
        default: "\(number) \(many)"
        }
    }

    func name(of evidence: Evidence) -> String { spaced(evidence.rawValue) }

    func name(of type: ProductType) -> String { type.rawValue.replacing("_", with: "-") }

    func name(ofEvent kind: String) -> String { spaced(kind) }

    func name(ofDetail key: String) -> String { spaced(key) }

    func sentence(_ cause: NotOwed.Cause) -> String {
        switch cause {
        case .dismissed: "dismissed by the support desk"
        case .rule(.foreignBundle): "the receipt is another app's"
        case .rule(.sandbox): "made in the other environment than the app's, where nobody pays"
        case .rule(.refunded): "refunded"
        case .rule(.familyShared): "somebody else paid for it: a family member, or who bought seats for others"
        case .rule(.upgraded): "an upgrade took its place"
        case .rule(.invalidQuantity): "its quantity is no purchase"
        case .rule(.beforeStart): "bought before the app's records begin"
        case .rule(.restored): "restores a purchase that is known under another transaction id"
        }
    }

    private func spaced(_ name: String) -> String { name.replacing("_", with: " ") }
}
