/// Every phrase of an enquiry that no report has: the text of `iap-reconcile check`.
enum EnquiryPhrase: CaseIterable {
    case label(Label)
    case line(Line)
    case verdict(Verdict)

    static var allCases: [EnquiryPhrase] {
        Label.allCases.map(Self.label) + Line.allCases.map(Self.line) + Verdict.allCases.map(Self.verdict)
    }

    /// What stands above and before what is known.
    enum Label: CaseIterable {
        case zone, cut, comma
        // Headings
        case transaction, transactionOfApple, order, user, claims, receipts, appleNotAsked, appleAsked
        // Names of lines
        case product, price, purchased, original, place, verifiedBy, seen, claimLine, caseLine, events, verdict
        case created, userLine, receiptsLine, deliveries, receiptLine, refunded, token
    }

    /// What is known.
    enum Line: CaseIterable {
        case quantity, none, inNoReceipt
        case white, confirmed, admitted, black, excluded, excludedAndRefunded
        case delivered, toUser, forOrder, byServer, byGrant, byDesk, byImport, refundedByApple
        case sighting, candidate, caseOpened, caseClosed, withNote, event, inRun, detail
        case receiptsOfUser, claimOf, uploaded, waitsForNight, triedOn
    }

    /// What follows from it.
    enum Verdict: CaseIterable {
        case isDelivered, isDeliveredTo, andRefunded, isOwed, isContested, isRedelivered, takenByServer, notTaken,
            notJudged, isPending, isRefunded, isRefundedSince, notOwed
        case isUnseen, isWaiting, isUnusable, isUnpaidOrder, nothingOpen, notPaid, isUnknown
        case several, severalOwed, severalDelivered, severalRefunded, severalOthers
    }
}

/// What an enquiry counts in words.
enum EnquiryCount: CaseIterable {
    case nights, deliveries, waitingReceipts
}
