import Reconciliation

struct English: Wording {
    let language = ReportLanguage.english

    func name(of likelihood: Likelihood) -> String { likelihood.rawValue }

    func name(of reason: Reason) -> String {
        switch reason {
        case .neverClaimed: "never claimed"
        case .noReceipt: "no receipt"
        case .rodeAlong: "rode along"
        case .claimFailed: "claim failed"
        case .ownerAmbiguous: "owner ambiguous"
        case .unknownProduct: "unknown product"
        }
    }

    func sentence(_ reason: Reason) -> String {
        switch reason {
        case .neverClaimed: "Paid and verified, and the app's server never tried to claim it."
        case .noReceipt: "It is in the customer's history with Apple, and no receipt ever held it."
        case .rodeAlong: "It came in a receipt that was not uploaded for it: the client never came to this purchase."
        case .claimFailed: "The app's server tried to claim it and was refused."
        case .ownerAmbiguous: "More than one user presented it."
        case .unknownProduct: "The app's list of products does not have it."
        }
    }

    func sentence(_ problem: ReceiptProblem) -> String {
        switch problem {
        case .empty: "The upload was empty."
        case .malformed: "Apple could not read it, on several nights."
        case .notGenuine: "Apple says it is not genuine."
        case .noTransactions: "It is genuine, but holds no purchase."
        case .accountGone: "The customer's account at Apple is gone."
        case .contradicted: "Apple says it is not genuine, though Apple's own signature holds."
        case .tryAgain: "Apple asked to try again."
        case .appleUnreachable: "Apple could not be reached."
        case .unreadableAnswer: "Apple's answer could not be read."
        case .needsConfiguration: "A setting must be mended first."
        case .unknownApp: "The configuration has no section for this app."
        }
    }

    func action(_ problem: ReceiptProblem) -> String {
        switch problem {
        case .empty, .malformed, .noTransactions: "Ask the user to open the app and refresh the receipt."
        case .notGenuine, .contradicted: "Look out for fraud; ask the user for Apple's invoice."
        case .accountGone: "Nothing can be verified any more; ask the user for Apple's invoice."
        case .tryAgain, .appleUnreachable, .unreadableAnswer: "Wait: it is tried again each night."
        case .needsConfiguration: "Run “iap-reconcile doctor”."
        case .unknownApp: "Add the app to the configuration, or stop handing in its receipts."
        }
    }

    func title(_ kind: Suspicion.Kind) -> String {
        switch kind {
        case .foreignBundle: "Receipt of another app"
        case .unknownProduct: "Unknown product"
        case .manyUsers: "Presented by many users"
        }
    }

    func name(of source: Source) -> String {
        switch source {
        case .appServer: "the app's own server"
        case .local: "Apple's signature, checked locally"
        case .verifyReceipt: "Apple, verifyReceipt"
        case .serverAPI: "Apple, App Store Server API"
        }
    }

    func name(of outcome: ClaimOutcome) -> String {
        switch outcome {
        case .delivered: "delivered"
        case .alreadyDelivered: "already delivered"
        case .notVerified: "not verified yet"
        case .wrongUser: "another user's"
        case .excluded: "excluded"
        }
    }

    func name(of bracket: AgeBracket) -> String {
        switch bracket {
        case .upToOne: "0–1 days"
        case .upToSeven: "2–7 days"
        case .upToThirty: "8–30 days"
        case .upToNinety: "31–90 days"
        case .older: "over 90 days"
        }
    }

    func text(of phrase: Phrase) -> String {
        switch phrase {
        case .title: "Lost orders, {day}"
        case .titleOfDryRun: "Lost orders, {day}, dry run"
        case .asOf: "As of {time} ({zone})"
        case .endedEarly: "This run ended early: {reason}"
        case .language: "Language"
        case .allReports: "All reports"
        case .skipToCases: "Skip to the cases"
        case .likelyLost: "likely lost orders"
        case .thisRun: "At a glance"
        case .newInRun: "new in this run"
        case .oldest: "age of the oldest"
        case .pending: "pending"
        case .pendingNote: "within their grace, not counted as lost"
        case .money: "Paid, not delivered"
        case .moneyNote: "list prices stand in where Apple told none"
        case .unpriced: "{n} without a price"
        case .none: "none"
        case .receipts: "Receipts"
        case .verifiedOfDue: "of {n} due verified"
        case .notVerified: "to try again"
        case .unusableCount: "unusable"
        case .notTried: "not tried"
        case .moreCurrencies: "{n} more currencies"
        case .ageing: "How long they wait"
        case .ageingNote: "Open cases by the age of the purchase"
        case .trend: "Over the last {n} runs"
        case .trendNote: "Open cases after each run; the bars are those new in it"
        case .trendSummary: "From {first} open cases in the first run shown to {last} in the last."
        case .openCases: "open cases"
        case .newCases: "new"
        case .age: "Age"
        case .count: "Cases"
        case .cases: "Likely lost orders"
        case .noCases: "No likely lost order: every purchase that was seen is delivered or pending."
        case .firstOf: "The first {n} of {total}, the likeliest first, then the oldest."
        case .allOf: "All {total}, the likeliest first, then the oldest."
        case .furtherPages: "This page holds the first {n} of {total} cases; the others follow on further pages."
        case .otherPage: "Page {n}"
        case .previousPage: "Previous page"
        case .nextPage: "Next page"
        case .likelihood: "Likelihood"
        case .user: "User"
        case .transaction: "Transaction"
        case .product: "Product"
        case .price: "Price"
        case .purchased: "Purchased"
        case .whatToDo: "What to do"
        case .isNew: "new"
        case .unknownOwner: "unknown owner"
        case .andMore: "and {n} more"
        case .listPrice: "list price"
        case .priceUnknown: "not known"
        case .ago: "{age} ago"
        case .underAnHour: "under an hour"
        case .oneHour: "1 hour"
        case .hours: "{n} hours"
        case .days: "{n} days"
        case .deliver: "Deliver to {user}."
        case .deliverForOrder: "Deliver to {user} for order {order}."
        case .findBuyer: "Nobody known presented it: find the buyer before delivering."
        case .askUsers: "Ask who bought it before delivering: {users}."
        case .investigate: "Look at the product and the receipt first: there may be nothing to deliver."
        case .evidence: "Evidence"
        case .evidenceOf: "evidence of transaction {id}"
        case .timeline: "What happened"
        case .why: "Why it is listed"
        case .ids: "Who and what"
        case .originalTransaction: "Original transaction"
        case .order: "Order"
        case .orders: "Orders"
        case .receipt: "Receipt"
        case .device: "Device"
        case .app: "App"
        case .environment: "Environment"
        case .verifiedBy: "Verified by"
        case .firstVerified: "verified for the first time"
        case .lastVerified: "verified again, still unclaimed"
        case .becameCase: "became a case: its grace had passed"
        case .uploadedFor: "receipt {receipt} uploaded for it"
        case .uploadedAlong: "receipt {receipt} uploaded for something else, and it came along"
        case .byUser: "by {user}"
        case .nobody: "nobody logged in"
        case .withOrder: "order {order}"
        case .claimBy: "claim refused: {outcome}"
        case .copy: "Copy"
        case .copyOf: "Copy {text}"
        case .copied: "Copied: {text}"
        case .quantity: "Quantity"
        case .search: "Search"
        case .searchHint: "transaction, user, order, product, receipt, device"
        case .filters: "Filters"
        case .anyReason: "any reason"
        case .anyProduct: "any product"
        case .anyApp: "any app"
        case .anyAge: "any age"
        case .anyTime: "new and old"
        case .newOnly: "new in this run"
        case .oldOnly: "known before"
        case .reason: "Reason"
        case .seen: "New or old"
        case .clear: "Clear filters"
        case .shown: "{total} cases"
        case .shownOf: "{n} of {total} cases"
        case .noMatch: "No case matches. Clear a filter to see more."
        case .rowsFromTo: "{from} to {to} of {total}"
        case .sortBy: "Sort by {column}"
        case .scriptOff: "Search and filters need JavaScript; lost-orders.xlsx and lost-orders.csv hold every case."
        case .unusable: "Receipts that could not be used"
        case .unverified: "Receipts still not verified"
        case .suspicious: "Suspicious"
        case .latestFirst: "All {total}."
        case .partOfList: "The first {n} of {total}; lost-orders.xlsx holds all."
        case .uploaded: "Uploaded"
        case .nights: "Nights tried"
        case .what: "What"
        case .users: "Users"
        case .found: "Found"
        case .totals: "Control totals"
        case .balance: "They balance: nothing was lost or counted twice."
        case .doNotBalance: "They do not balance."
        case .received: "What verification gave"
        case .whiteTable: "The white table"
        case .verified: "verified"
        case .newlyWhite: "newly white"
        case .alreadyWhite: "already white"
        case .alreadyBlack: "already black"
        case .excluded: "excluded"
        case .openingWhite: "opening white"
        case .new: "new"
        case .claimed: "claimed"
        case .resolved: "resolved"
        case .refunded: "refunded"
        case .closingWhite: "closing white"
        case .stages: "Time by stage, over all workers"
        case .stage: "Stage"
        case .seconds: "Seconds"
        case .items: "Items"
        case .transactions: "Transactions"
        case .units: "Units"
        case .hash: "Hash"
        case .figure: "Figure"
        case .reports: "Lost orders: all reports"
        case .day: "Day"
        case .run: "Run {n}"
        case .dryRun: "Dry run"
        case .outcome: "Outcome"
        case .complete: "complete"
        case .early: "ended early"
        case .files: "Files"
        case .sheetCases: "Cases"
        case .sheetUnusable: "Unusable receipts"
        case .sheetUnverified: "Unverified receipts"
        case .sheetSuspicious: "Suspicious"
        case .sheetTotals: "Totals"
        case .currency: "Currency"
        case .purchasedUTC: "Purchased (UTC)"
        case .purchasedLocal: "Purchased ({zone})"
        case .ageInDays: "Age in days"
        case .yes: "yes"
        case .no: "no"
        case .detail: "Detail"
        case .firstSeen: "First seen (UTC)"
        case .reasons: "Reasons"
        case .isListPrice: "List price"
        }
    }
}
