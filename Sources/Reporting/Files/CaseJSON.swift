import Reconciliation

extension JSONObject {
    /// Writes a case of `report.json`. Names are in alphabetical order.
    init(_ found: ReportedCase) {
        let assessment = found.assessment
        self.init()
        add("action", assessment.action.rawValue)
        add("answer_apple_by", found.answerAppleBy)
        add("bundle_id", found.key.bundleID.text)
        add("candidates", assessment.owner.candidates)
        add("claims", each: found.claims, JSONObject.init)
        if !found.comments.isEmpty { add("comments", each: found.comments, JSONObject.init) }
        add("currency", found.price?.currency.text)
        add("device", found.device)
        add("environment", found.key.environment.rawValue)
        add("evidence", each: assessment.candidates, JSONObject.init)
        add("first_verified_at", found.firstVerifiedAt)
        add("is_list_price", found.isListPrice)
        add("is_new", found.isNew)
        add("is_reopened", found.isReopened)
        add("last_verified_at", found.lastVerifiedAt)
        add("likelihood", assessment.likelihood.rawValue)
        add("opened_at", found.openedAt)
        add("order_ids", found.orderIDs)
        add("original_transaction_id", found.originalID.text)
        add("owner", assessment.owner.user)
        if !found.patterns.isEmpty { add("patterns", found.patterns) }
        add("price_milliunits", found.price?.milliunits)
        add("product_id", found.productID.text)
        add("product_name", found.productName)
        add("product_type", found.productType?.rawValue)
        add("purchased_at", found.purchasedAt)
        add("quantity", found.quantity)
        add("reasons", assessment.reasons.map(\.rawValue))
        add("redelivery", found.redelivery.map(JSONObject.init))
        add("sightings", each: found.sightings, JSONObject.init)
        add("source", found.source.rawValue)
        add("subscription", found.subscription.map(JSONObject.init))
        add("taken", found.taking.map(JSONObject.init))
        add("transaction_id", found.key.id.text)
    }

    private init(_ sighting: Sighting) {
        self.init()
        add("is_in_receipt", sighting.isInReceipt)
        add("is_named", sighting.isNamed)
        add("order_id", sighting.orderID)
        add("receipt_id", sighting.receiptID)
        add("uploaded_at", sighting.uploadedAt)
        add("user_id", sighting.userID)
    }

    private init(_ claim: ClaimAttempt) {
        self.init()
        add("attempted_at", claim.attemptedAt)
        add("order_id", claim.orderID)
        add("outcome", claim.outcome.rawValue)
        add("user_id", claim.userID)
    }

    private init(_ candidate: OwnerCandidate) {
        self.init()
        add("kinds", candidate.evidence.map(\.rawValue))
        add("user_id", candidate.userID)
    }

    /// Writes who of the support desk is working on a case.
    private init(_ taking: CaseTaking) {
        self.init()
        add("by", taking.by)
        add("since", taking.since)
    }

    /// Writes what the app's server is asked to deliver.
    private init(_ redelivery: OpenRedelivery) {
        self.init()
        add("ordered_at", redelivery.orderedAt)
        add("ordered_by", redelivery.orderedBy)
        add("taken_at", redelivery.takenAt)
        add("tries", redelivery.tries)
        add("user_id", redelivery.userID)
    }

    /// Writes what the support desk noted about a case.
    private init(_ comment: DeskComment) {
        self.init()
        add("at", comment.at)
        add("by", comment.by)
        add("text", comment.text)
    }

    /// Writes a subscription's periods without access.
    private init(_ subscription: ReportedSubscription) {
        self.init()
        add("entitled_until", subscription.entitledUntil)
        add("paid_until", subscription.paidUntil)
        add("transaction_ids", subscription.periods.map(\.text))
    }
}
