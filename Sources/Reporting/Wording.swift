import Foundation
import Reconciliation

/// What the report says in words, in one place.
enum Wording {
    static func sentence(_ reason: Reason) -> String {
        switch reason {
        case .neverClaimed: "Paid and verified, and the app's server never tried to claim it."
        case .rodeAlong: "It came in a receipt that was not uploaded for it: the client never came to this purchase."
        case .claimFailed: "The app's server tried to claim it and was refused."
        case .ownerAmbiguous: "More than one user presented it."
        case .unknownProduct: "The app's list of products does not have it."
        }
    }

    static func action(_ assessment: Assessment, orderIDs: [String]) -> String {
        switch (assessment.action, assessment.owner) {
        case (.deliver, .user(let user)):
            orderIDs.count == 1 ? "Deliver to \(user) for order \(orderIDs[0])." : "Deliver to \(user)."
        case (.deliver, _), (.contact, .unknown):
            "Nobody known presented it: find the buyer before delivering."
        case (.contact, let owner):
            "Ask who bought it before delivering: \(owner.candidates.prefix(5).joined(separator: ", "))."
        case (.investigate, _):
            "Look at the product and the receipt first: there may be nothing to deliver."
        }
    }

    static func sentence(_ problem: ReceiptProblem) -> String {
        switch problem {
        case .empty: "The upload was empty."
        case .malformed: "Apple could not read it, on several nights."
        case .notGenuine: "Apple says it is not genuine."
        case .noTransactions: "It is genuine, but holds no purchase."
        case .accountGone: "The customer's account at Apple is gone."
        case .tryAgain: "Apple asked to try again."
        case .appleUnreachable: "Apple could not be reached."
        case .unreadableAnswer: "Apple's answer could not be read."
        case .needsConfiguration: "A setting must be mended first."
        case .unknownApp: "The configuration has no section for this app."
        }
    }

    static func action(_ problem: ReceiptProblem) -> String {
        switch problem {
        case .empty, .malformed, .noTransactions: "Ask the user to open the app and refresh the receipt."
        case .notGenuine: "Look out for fraud; ask the user for Apple's invoice."
        case .accountGone: "Nothing can be verified any more; ask the user for Apple's invoice."
        case .tryAgain, .appleUnreachable, .unreadableAnswer: "Wait: it is tried again each night."
        case .needsConfiguration: "Run “iap-reconcile doctor”."
        case .unknownApp: "Add the app to the configuration, or stop handing in its receipts."
        }
    }

    static func title(_ kind: Suspicion.Kind) -> String {
        switch kind {
        case .foreignBundle: "Receipt of another app"
        case .unknownProduct: "Unknown product"
        case .manyUsers: "Presented by many users"
        }
    }

    static func source(_ source: Source) -> String {
        switch source {
        case .appServer: "the app's own server"
        case .local: "Apple's signature, checked locally"
        case .verifyReceipt: "Apple, verifyReceipt"
        case .serverAPI: "Apple, App Store Server API"
        }
    }

    /// An age in the largest unit that tells enough.
    static func age(_ seconds: TimeInterval) -> String {
        let hours = Int(max(0, seconds) / 3600)
        switch hours {
        case ..<1: return "under an hour"
        case 1: return "1 hour"
        case ..<48: return "\(hours) hours"
        default: return "\(hours / 24) days"
        }
    }

    /// What the client said of its device: the fields that everyone sends, else the JSON as it is.
    static func device(_ json: String?) -> String {
        guard let json else { return "" }
        guard let object = try? JSONDecoder().decode([String: Field].self, from: Data(json.utf8)) else {
            return String(json.prefix(300))
        }
        let known = ["model", "name", "os"].compactMap { object[$0]?.text }
        return String((known.isEmpty ? json : known.joined(separator: ", ")).prefix(300))
    }

    private enum Field: Decodable {
        case known(String)
        case other

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self = (try? container.decode(String.self)).map { .known($0) } ?? .other
        }

        var text: String? {
            if case .known(let text) = self { text } else { nil }
        }
    }
}
