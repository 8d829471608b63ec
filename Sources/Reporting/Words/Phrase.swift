/// Every phrase of a report, except for words for values of the rules. The raw value is the name by which the page's
/// script asks for it.
enum Phrase: String, CaseIterable {
    // The head
    case title, titleOfDryRun, asOf, endedEarly, language, allReports, skipToCases
    // Figures that have reached their threshold
    case alertUnitsMissing, alertShareLost, alertMoneyLost, alertOldestCase, alertRedeliveriesFailing
    // What a company's own tables gave
    case sourceProblem, sourceRefused
    // What Apple tells
    case hearingProblem, drySpell, noticesUnsent, noticesNotTaken, historyNotTaken
    // Settings that somebody must correct
    case appRefused, appWithoutSection, appWithoutProducts
    // What many cases have in common
    case patterns, pattern, anyPattern, showPattern, outage, deviceModel, deviceSystem, appVersion
    case patternOutage, patternProduct, patternDevice, patternHours
    // What is not looked at
    case notConnected, beforeConnected, ignored
    case consumable, nonConsumable, autoRenewable, nonRenewing, unknownType
    // Subscriptions
    case paidPeriods, paidUntil, grantedUntil, neverGranted
    // Figures
    case likelyLost, thisRun, newInRun, reopenedInRun, closedSince, oldest, pending, pendingNote, money, moneyNote,
        unpriced, none
    case redelivered, redeliveriesFailing
    case receipts, verifiedOfDue, notVerified, unusableCount, notTried, moreCurrencies
    // Charts
    case ageing, ageingNote, trend, trendNote, trendSummary, newCases, age, count
    case flow, flowNote, flowSummary, moneyTrend, moneyTrendNote, moneyTrendLeft
    case byAppVersion, bySystem, byModel, clientsNote, moreClients, lostShare, lostOf
    // Cases
    case cases, noCases, firstOf, allOf, furtherPages, otherPage, previousPage, nextPage
    case likelihood, user, transaction, product, price, purchased, whatToDo
    case purchasesOf, foundPurchasesOf, productCount, oldestOf, moreOf, moreInFiles
    case isNew, unknownOwner, andMore, listPrice, priceUnknown, ago
    case underAnHour, oneHour, hours, days
    // What to do
    case deliver, deliverForOrder, redeliver, makeUp, findBuyer, askUsers, lookOut, wait, investigate
    // Evidence
    case evidence, evidenceOf, timeline, why, ids, originalTransaction, order, orders, receipt, device, app
    case environment, verifiedBy, firstVerified, lastVerified, answerApple, becameCase, uploadedFor, uploadedAlong,
        inHistory, byUser, nobody
    case takenBy, commentBy, commands, copyCommands, copiedCommands
    case withOrder, claimBy, copy, copyOf, copied, copiedHere, notCopied, printed, sections, quantity
    // Search and filters
    case search, searchHint, filters, anyReason, anyAction, anyProduct, anyApp, anyAge, anyTime, newOnly, oldOnly
    case reason, seen
    case deliverName, redeliverName, makeUpName, findBuyerName, askUsersName, lookOutName, waitName, investigateName
    case clear, shown, shownOf, noMatch, rowsFromTo, sortBy, scriptOff
    // Lists
    case unusable, unverified, suspicious, wholeList, partOfList, uploaded, nights, what, users, found
    // Sales
    case soldAgainstSeen, salesSummary, salesNote, salesEqual, country, allCountries, unitsSold, unitsSeen, difference
    case differenceAround, refundsSold, refundsSeen
    // Totals
    case totals, balance, doNotBalance, received, whiteTable, verified, newlyWhite, alreadyWhite, alreadyBlack
    case excluded, openingWhite, new, claimed, resolved, refunded, closingWhite, stages, stage, seconds, items
    case transactions, units, hash, figure
    // All reports
    case reports, day, run, dryRun, outcome, complete, early
    // The spreadsheet
    case sheetCases, sheetUnusable, sheetUnverified, sheetSuspicious, sheetSales, sheetTotals
    case section, amount, productName, uploadedUTC
    case sheetPatterns, customers, delivered, fromUTC, untilUTC
    case customersCases, periods, paidUntilUTC, entitledUntilUTC
    case currency, purchasedUTC, purchasedLocal, ageInDays, yes, no, detail, firstSeen, reasons, isListPrice
    // What a person decides in it
    case caseMark, decision, decisionNote, decisionHint
}
