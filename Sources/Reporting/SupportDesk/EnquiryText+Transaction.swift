import Foundation
import Reconciliation

extension EnquiryText {
    /// - Parameter isOnly: whether the enquiry's own verdict, which stands at the end, is this one's.
    func block(of known: KnownTransaction, isOnly: Bool) -> TextBlock {
        var block = TextBlock("Transaction \(known.key.id) of \(known.key.bundleID), \(known.key.environment.rawValue)")
        block.add("product", product(known))
        block.add("price", price(known))
        block.add("purchased", moment(known.purchasedAt))
        if known.originalID != known.key.id { block.add("original", known.originalID.text) }
        block.add("where", place(known))
        block.add("verified by", words.name(of: known.source))
        block.add("seen", known.sightings.isEmpty ? ["in no receipt"] : known.sightings.map(line))
        block.add("claims", known.claims.isEmpty ? ["none"] : known.claims.map(line))
        if let lostOrder = known.lostOrder { block.add("case", lines(of: lostOrder, orderIDs: known.orderIDs)) }
        block.add("events", known.events.map(line))
        if !isOnly { block.add("verdict", sentence(DeskVerdict(of: known))) }
        return block
    }

    private func product(_ known: KnownTransaction) -> String {
        let name = known.productName.map { " (\(Printable.text($0)))" } ?? ""
        let type = known.productType.map { ", \($0.rawValue.replacing("_", with: "-"))" } ?? ""
        return "\(known.productID)\(name)\(type)\(known.quantity == 1 ? "" : ", quantity \(known.quantity)")"
    }

    private func price(_ known: KnownTransaction) -> String {
        guard let price = known.price else { return words(.priceUnknown) }
        return Formats.text(price) + (known.isListPrice ? " (\(words(.listPrice)))" : "")
    }

    private func place(_ known: KnownTransaction) -> [String] {
        switch known.place {
        case .white(let owed):
            let nights = counted(owed.nightsConfirmed, "night", "nights")
            return [
                "white: paid and not claimed; known since \(moment(owed.firstSeenAt))",
                "confirmed on \(nights), last verified \(moment(owed.verifiedAt))",
            ] + [owed.admittedFor.map { "admitted for \(Printable.text($0))" }].compactMap(\.self)
        case .black(let delivery):
            return ["black: \(self.delivery(delivery))"]
        case .excluded(let exclusion):
            return ["excluded since \(moment(exclusion.excludedAt)): \(cause(exclusion))"]
        }
    }

    func delivery(_ delivery: Delivery) -> String {
        let user = delivery.userID.map { " to \(Printable.text($0))" } ?? ""
        let order = delivery.orderID.map { " for order \(Printable.text($0))" } ?? ""
        let who =
            switch delivery.deliveredBy {
            case "claim": "by the app's server"
            case "entitlement": "by what the app's server granted"
            case "resolved": "by the support desk"
            default: Printable.text(delivery.deliveredBy)
            }
        let refund = delivery.refundedAt.map { "; refunded by Apple \(moment($0))" } ?? ""
        return "delivered\(user)\(order) \(moment(delivery.deliveredAt)) \(who)\(refund)"
    }

    private func line(_ sighting: Sighting) -> String {
        let receipt = String(sighting.receiptID)
        let how =
            if sighting.isNamed {
                words(.uploadedFor, ["receipt": receipt])
            } else if sighting.isInReceipt {
                words(.uploadedAlong, ["receipt": receipt])
            } else {
                "in the history of the customer of receipt \(receipt)"
            }
        let order = sighting.orderID.map { ", " + words(.withOrder, ["order": Printable.text($0)]) } ?? ""
        return "\(moment(sighting.uploadedAt))  \(how), \(by(sighting.userID))\(order)"
    }

    func line(_ claim: ClaimAttempt) -> String {
        let order = claim.orderID.map { ", " + words(.withOrder, ["order": Printable.text($0)]) } ?? ""
        return "\(moment(claim.attemptedAt))  \(words.name(of: claim.outcome)), \(by(claim.userID))\(order)"
    }

    private func lines(of lostOrder: KnownCase, orderIDs: [String]) -> [String] {
        let assessment = lostOrder.assessment
        var lines = ["\(words.name(of: assessment.likelihood)) likelihood, opened \(moment(lostOrder.openedAt))"]
        lines += assessment.reasons.map(words.sentence)
        lines += assessment.candidates.prefix(5).map { candidate in
            let evidence = candidate.evidence.map { $0.rawValue.replacing("_", with: " ") }
            return "\(Printable.text(candidate.userID)): \(evidence.joined(separator: ", "))"
        }
        if let closing = lostOrder.closing {
            let note = closing.note.map { ": \(Printable.text($0, longest: 500))" } ?? ""
            lines.append("closed as \(closing.how) \(moment(closing.at)) by \(Printable.text(closing.who))\(note)")
        } else {
            lines.append("→ " + Printable.text(words.action(assessment, orderIDs: orderIDs), longest: 500))
        }
        return lines
    }

    private func line(_ event: KnownEvent) -> String {
        let what = Self.spaced(Printable.text(event.kind))
        let run = event.runID.map { " in run \($0)" } ?? ""
        let details = event.details.filter { $0.key != "login" }.sorted { $0.key < $1.key }
            .map { "\(Self.spaced($0.key)): \(Self.plain($0.value))" }
        return (["\(moment(event.happenedAt))  \(what) by \(Printable.text(event.actor))\(run)"] + details)
            .joined(separator: "; ")
    }

    /// A detail as it is; a list of words without the marks of JSON.
    private static func plain(_ value: String) -> String {
        let list = try? JSONDecoder().decode([String].self, from: Data(value.utf8))
        return Printable.text(list.map { $0.joined(separator: ", ") } ?? value, longest: 500)
    }

    private static func spaced(_ name: String) -> String { name.replacing("_", with: " ") }
}
