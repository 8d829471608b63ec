import Foundation
import Reconciliation

extension EnquiryText {
    /// - Parameter isOnly: whether the enquiry's own verdict, which is at the end, is about this transaction.
    func block(of known: KnownTransaction, isOnly: Bool) -> TextBlock {
        var block = TextBlock(say(.label(.transaction), name(of: known.key)))
        block.add(say(.label(.product)), product(known))
        block.add(say(.label(.price)), price(known))
        block.add(say(.label(.purchased)), moment(known.purchasedAt))
        if known.originalID != known.key.id { block.add(say(.label(.original)), known.originalID.text) }
        block.add(say(.label(.place)), place(known))
        block.add(say(.label(.verifiedBy)), words.name(of: known.source))
        block.add(say(.label(.seen)), known.sightings.isEmpty ? [say(.line(.inNoReceipt))] : known.sightings.map(line))
        block.add(say(.label(.claimLine)), known.claims.isEmpty ? [say(.line(.none))] : known.claims.map(line))
        if let lostOrder = known.lostOrder {
            block.add(say(.label(.caseLine)), lines(of: lostOrder, known))
        }
        block.add(say(.label(.events)), known.events.map(line))
        if !isOnly { block.add(say(.label(.verdict)), sentence(DeskVerdict(of: known))) }
        return block
    }

    func name(of key: TransactionKey) -> [String: String] {
        ["id": key.id.text, "app": key.bundleID.text, "environment": key.environment.rawValue]
    }

    private func product(_ known: KnownTransaction) -> String {
        let name = known.productName.map { " (\(Printable.text($0)))" } ?? ""
        let type = known.productType.map { say(.label(.comma)) + words.name(of: $0) } ?? ""
        return "\(known.productID)\(name)\(type)\(quantity(known.quantity))"
    }

    private func price(_ known: KnownTransaction) -> String {
        guard let price = known.price else { return words(.priceUnknown) }
        return Formats.text(price) + (known.isListPrice ? " (\(words(.listPrice)))" : "")
    }

    private func place(_ known: KnownTransaction) -> [String] {
        switch known.place {
        case .white(let owed):
            let nights = words.counted(owed.nightsConfirmed, .nights)
            return [
                say(.line(.white), ["time": moment(owed.firstSeenAt)]),
                say(.line(.confirmed), ["nights": nights, "time": moment(owed.verifiedAt)]),
            ] + [owed.admittedFor.map { say(.line(.admitted), ["user": Printable.text($0)]) }].compactMap(\.self)
        case .black(let delivery):
            return [say(.line(.black), ["delivery": self.delivery(delivery)])]
        case .excluded(let exclusion):
            return [say(.line(.excluded), ["time": moment(exclusion.excludedAt), "cause": cause(exclusion)])]
        }
    }

    func delivery(_ delivery: Delivery) -> String {
        let who =
            switch delivery.deliveredBy {
            case .claim: say(.line(.byServer))
            case .entitlement: say(.line(.byGrant))
            case .resolved: say(.line(.byDesk))
            case .imported: say(.line(.byImport))
            }
        return say(
            .line(.delivered),
            [
                "user": delivery.userID.map { say(.line(.toUser), ["user": Printable.text($0)]) } ?? "",
                "order": delivery.orderID.map { say(.line(.forOrder), ["order": Printable.text($0)]) } ?? "",
                "time": moment(delivery.deliveredAt), "who": who,
                "refund": delivery.refundedAt.map { say(.line(.refundedByApple), ["time": moment($0)]) } ?? "",
            ])
    }

    private func line(_ sighting: Sighting) -> String {
        let receipt = ["receipt": String(sighting.receiptID)]
        return line(
            at: sighting.uploadedAt, words(sighting.phrase, receipt), by: sighting.userID, for: sighting.orderID)
    }

    func line(_ claim: ClaimAttempt) -> String {
        line(at: claim.attemptedAt, words.name(of: claim.outcome), by: claim.userID, for: claim.orderID)
    }

    private func line(at date: Date, _ how: String, by userID: String?, for orderID: String?) -> String {
        let order = orderID.map { say(.label(.comma)) + words(.withOrder, ["order": Printable.text($0)]) } ?? ""
        return "\(moment(date))  " + say(.line(.sighting), ["how": how, "who": by(userID), "order": order])
    }

    private func lines(of lostOrder: KnownCase, _ known: KnownTransaction) -> [String] {
        let assessment = lostOrder.assessment
        let opened = [
            "likelihood": words.name(of: assessment.likelihood), "time": moment(lostOrder.openedAt),
        ]
        var lines = [say(.line(.caseOpened), opened)]
        lines += assessment.reasons.map { words.sentence($0) + orders(of: $0, assessment.orderIDs) }
        lines += assessment.candidates.prefix(5).map { candidate in
            let evidence = candidate.evidence.map(words.name).joined(separator: say(.label(.comma)))
            return say(.line(.candidate), ["user": Printable.text(candidate.userID), "evidence": evidence])
        }
        if let closing = lostOrder.closing {
            lines.append(
                say(
                    .line(.caseClosed),
                    [
                        "how": words.name(ofEvent: closing.how.rawValue), "time": moment(closing.at),
                        "who": Printable.text(closing.who),
                        "note": closing.note.map { say(.line(.withNote), ["note": Printable.text($0, longest: 500)]) }
                            ?? "",
                    ]))
        } else if !known.isContested {
            let advice = words.action(assessment, redelivery: known.redelivery)
            lines.append("→ " + Printable.text(advice, longest: 500))
        }
        return lines
    }

    /// The orders that a reason speaks of: where the advice is to wait or to ask, nothing else names them.
    private func orders(of reason: Reason, _ orderIDs: [String]) -> String {
        guard reason == .orderMatched || reason == .orderAmbiguous, !orderIDs.isEmpty else { return "" }
        return " (\(orderIDs.map { Printable.text($0) }.joined(separator: say(.label(.comma)))))"
    }

    private func line(_ event: KnownEvent) -> String {
        let what = [
            "what": words.name(ofEvent: Printable.text(event.kind)), "who": Printable.text(event.actor),
            "run": event.runID.map { say(.line(.inRun), ["run": String($0)]) } ?? "",
        ]
        let details = event.details.filter { !["login", "move_id"].contains($0.key) }.sorted { $0.key < $1.key }
            .map { say(.line(.detail), ["name": words.name(ofDetail: $0.key), "value": value(of: $0.key, $0.value)]) }
        return "\(moment(event.happenedAt))  \(say(.line(.event), what))" + details.joined()
    }

    /// A detail in the reader's words if it is one of ours, otherwise as it is; a list loses the marks of JSON.
    private func value(of key: String, _ value: String) -> String {
        let list = try? JSONDecoder().decode([String].self, from: Data(value.utf8))
        let named: String? =
            switch key {
            case "as", "was": words.name(ofEvent: value)
            case "likelihood": Likelihood(rawValue: value).map(words.name)
            case "reasons": list.map { names(of: $0) { Reason(rawValue: $0).map(words.name) } }
            // In thousandths of a percent.
            case "from_refund_percentage", "to_refund_percentage":
                Double(value).map { "\(($0 / 1000).formatted(.number.locale(words.language.locale)))%" }
            default: nil
            }
        return Printable.text(named ?? list.map { $0.joined(separator: ", ") } ?? value, longest: 500)
    }

    private func names(of list: [String], _ name: (String) -> String?) -> String {
        list.map { name($0) ?? $0 }.joined(separator: say(.label(.comma)))
    }
}
