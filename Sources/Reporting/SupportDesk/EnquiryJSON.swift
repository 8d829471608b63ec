import Foundation
public import Reconciliation

/// An enquiry as one line of JSON, for programs: keys in snake case and in a fixed order, times in UTC.
public enum EnquiryJSON {
    /// The enquiry with its verdict.
    public static func text(of enquiry: Enquiry) throws -> String {
        Printable.json(try String(json: Answer(enquiry)))
    }

    struct Answer: Encodable {
        let id: String
        /// The verdict's kind, such as `delivered`; `sentence` says it in words.
        let verdict, sentence: String
        let transactions: [Transaction]
        let appleTransactions: [AppleTransaction]
        let apple: Apple?
        let orders: [Order]
        let user: User?
        let claims: [Claim]
        let receipts: [Receipt]
        let isCut: Bool
    }

    struct Transaction: Encodable {
        let transactionID, bundleID, environment, originalTransactionID, productID: String
        let productName, productType: String?
        let quantity: Int
        let purchasedAt: Date
        let priceMilliunits: Int64?
        let currency: String?
        let isListPrice: Bool
        let source, place, verdict, sentence: String
        let firstSeenAt, verifiedAt, graceEndsAt: Date?
        let nightsConfirmed: Int?
        let admittedFor: String?
        let delivery: Delivered?
        let exclusion: String?
        let excludedAt, refundedAt: Date?
        let foundBundleID: String?
        let sightings: [Seen]
        let claims: [Claim]
        let lostOrder: LostOrder?
        /// The users who may own what is owed, by what is known now.
        let owners: [String]?
        let redelivery: Redelivery?
        let events: [Event]

        enum CodingKeys: String, CodingKey {
            case transactionID, bundleID, environment, originalTransactionID, productID, productName, productType
            case quantity, purchasedAt, priceMilliunits, currency, isListPrice, source, place, verdict, sentence
            case firstSeenAt, verifiedAt, graceEndsAt, nightsConfirmed, admittedFor, delivery, exclusion, excludedAt
            case refundedAt, foundBundleID, sightings, claims
            case lostOrder = "case"
            case owners, redelivery, events
        }
    }

    struct Delivered: Encodable {
        let transactionID, bundleID, environment, productID: String?
        let userID, orderID: String?
        let deliveredBy: String
        let deliveredAt: Date
        let refundedAt: Date?
    }

    struct Seen: Encodable {
        let receiptID: Int64
        let userID, orderID: String?
        let isNamed, isInReceipt: Bool
        let uploadedAt: Date
    }

    struct Claim: Encodable {
        let transactionID, bundleID: String?
        let outcome, userID: String
        let orderID: String?
        let attemptedAt: Date
    }

    struct LostOrder: Encodable {
        let likelihood: String
        let reasons: [String]
        let sentences: [String]
        let action, advice: String
        let owner: String?
        let candidates: [Candidate]
        let orderIds: [String]
        let openedAt: Date
        let closedAs, closedBy, note: String?
        let closedAt: Date?
    }

    /// What the app's server is asked to deliver.
    struct Redelivery: Encodable {
        let userID: String
        let orderedAt: Date
        let orderedBy: String
        let tries: Int
        let takenAt: Date?
    }

    struct Candidate: Encodable {
        let userID: String
        let evidence: [String]
    }

    struct Event: Encodable {
        let happenedAt: Date
        let kind, actor: String
        let runID: Int64?
        let details: [String: String]
    }

    struct AppleTransaction: Encodable {
        let transactionID, bundleID, environment, productID: String
        let quantity: Int
        let purchasedAt: Date
        let refundedAt: Date?
        let priceMilliunits: Int64?
        let currency, appAccountToken: String?
    }

    struct Apple: Encodable {
        let notAsked: String?
        /// What each app's App Store Server API answered, if it found nothing.
        let answers: [String: String]
    }

    struct Order: Encodable {
        let orderID, bundleID, userID, productID: String
        let quantity: Int
        let createdAt: Date
    }

    struct User: Encodable {
        let receipts, waitingReceipts, watchedReceipts: Int
        let deliveries: [Delivered]
    }

    struct Receipt: Encodable {
        let receiptID: Int64
        let bundleID: String
        let userID, orderID, transactionID, device: String?
        let submittedAt: Date
        let state: String
        let attempts: Int
        let problem, detail, action: String?
    }
}
