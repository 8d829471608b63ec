import Foundation
import Reconciliation

extension EnquiryText {
    /// - Parameter isOnly: whether the enquiry's own verdict, which is at the end, is about this transaction.
    func block(of known: KnownTransaction, isOnly: Bool) -> TextBlock {
        var block = TextBlock(say(.transaction, name(of: known.key)))
        block.add(say(.product), product(known))
        block.add(say(.price), price(known))
        block.add(say(.purchased), moment(known.purchasedAt))
        if known.originalID != known.key.id { block.add(say(.original), known.originalID.text) }
        block.add(say(.place), place(known))
        block.add(say(.verifiedBy), words.name(of: known.source))
        block.add(say(.seen), known.sightings.isEmpty ? [say(.inNoReceipt)] : known.sightings.map(line))
        block.add(say(.claimLine), known.claims.isEmpty ? [say(.none)] : known.claims.map(line))
        if let lostOrder = known.lostOrder {
            block.add(say(.caseLine), lines(of: lostOrder, known))
        }
        block.add(say(.events), known.events.map(line))
        if !isOnly { block.add(say(.verdict), sentence(DeskVerdict(of: known))) }
        return block
    }

    func name(of key: TransactionKey) -> [String: String] {
        ["id": key.id.text, "app": key.bundleID.text, "environment": key.environment.rawValue]
    }

    private func product(_ known: KnownTransaction) -> String {
        let name = known.productName.map { " (\(Printable.text($0)))" } ?? ""
        let type = known.productType.map { say(.comma) + words.name(of: $0) } ?? ""
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
                say(.white, ["time": moment(owed.firstSeenAt)]),
                say(.confirmed, ["nights": nights, "time": moment(owed.verifiedAt)]),
            ] + [owed.admittedFor.map { say(.admitted, ["user": Printable.text($0)]) }].compactMap(\.self)
        case .black(let delivery):
            return [say(.black, ["delivery": self.delivery(delivery)])]
        case .excluded(let exclusion):
            return [say(.excluded, ["time": moment(exclusion.excludedAt), "cause": cause(exclusion)])]
        }
    }

    func delivery(_ delivery: Delivery) -> String {
        let who =
            switch delivery.deliveredBy {
            case "claim": say(.byServer)
            case "entitlement": say(.byGrant)
            case "resolved": say(.byDesk)
            case "import": say(.byImport)
            default: Printable.text(delivery.deliveredBy)
            }
        return say(
            .delivered,
            [
                "user": delivery.userID.map { say(.toUser, ["user": Printable.text($0)]) } ?? "",
                "order": delivery.orderID.map { say(.forOrder, ["order": Printable.text($0)]) } ?? "",
                "time": moment(delivery.deliveredAt), "who": who,
                "refund": delivery.refundedAt.map { say(.refundedByApple, ["time": moment($0)]) } ?? "",
            ])
    }

    private func line(_ sighting: Sighting) -> String {
        let receipt = ["receipt": String(sighting.receiptID)]
        let how =
            if sighting.isNamed {
                words(.uploadedFor, receipt)
            } else if sighting.isInReceipt {
                words(.uploadedAlong, receipt)
            } else {
                say(.inHistory, receipt)
            }
        return line(at: sighting.uploadedAt, how, by: sighting.userID, for: sighting.orderID)
    }

    func line(_ claim: ClaimAttempt) -> String {
        line(at: claim.attemptedAt, words.name(of: claim.outcome), by: claim.userID, for: claim.orderID)
    }

    private func line(at date: Date, _ how: String, by userID: String?, for orderID: String?) -> String {
        let order = orderID.map { say(.comma) + words(.withOrder, ["order": Printable.text($0)]) } ?? ""
        return "\(moment(date))  " + say(.sighting, ["how": how, "who": by(userID), "order": order])
    }

    private func lines(of lostOrder: KnownCase, _ known: KnownTransaction) -> [String] {
        let assessment = lostOrder.assessment
        let opened = [
            "likelihood": words.name(of: assessment.likelihood), "time": moment(lostOrder.openedAt),
        ]
        var lines = [say(.caseOpened, opened)]
        lines += assessment.reasons.map(words.sentence)
        lines += assessment.candidates.prefix(5).map { candidate in
            let evidence = candidate.evidence.map(words.name).joined(separator: say(.comma))
            return say(.candidate, ["user": Printable.text(candidate.userID), "evidence": evidence])
        }
        if let closing = lostOrder.closing {
            lines.append(
                say(
                    .caseClosed,
                    [
                        "how": words.name(ofEvent: closing.how), "time": moment(closing.at),
                        "who": Printable.text(closing.who),
                        "note": closing.note.map { say(.withNote, ["note": Printable.text($0, longest: 500)]) } ?? "",
                    ]))
        } else if !known.isContested {
            let advice = words.action(assessment, orderIDs: known.orderIDs, redelivery: known.redelivery)
            lines.append("→ " + Printable.text(advice, longest: 500))
        }
        return lines
    }

    private func line(_ event: KnownEvent) -> String {
        let what = [
            "what": words.name(ofEvent: Printable.text(event.kind)), "who": Printable.text(event.actor),
            "run": event.runID.map { say(.inRun, ["run": String($0)]) } ?? "",
        ]
        let details = event.details.filter { !["login", "move_id"].contains($0.key) }.sorted { $0.key < $1.key }
            .map { say(.detail, ["name": words.name(ofDetail: $0.key), "value": value(of: $0.key, $0.value)]) }
        return "\(moment(event.happenedAt))  \(say(.event, what))" + details.joined()
    }

    /// A detail in the reader's words if it is one of ours, otherwise as it is; a list loses the marks of JSON.
    private func value(of key: String, _ value: String) -> String {
        let list = try? JSONDecoder().decode([String].self, from: Data(value.utf8))
        let named: String? =
            switch key {
            case "as", "was": words.name(ofEvent: value)
            case "likelihood": Likelihood(rawValue: value).map(words.name)
            case "reasons": list.map { names(of: $0) { Reason(rawValue: $0).map(words.name) } }
            case "evidence": list.map { names(of: $0) { Evidence(rawValue: $0).map(words.name) } }
            // In thousandths of a percent.
            case "from_refund_percentage", "to_refund_percentage":
                Double(value).map { "\(($0 / 1000).formatted(.number.locale(words.language.locale)))%" }
            default: nil
            }
        return Printable.text(named ?? list.map { $0.joined(separator: ", ") } ?? value, longest: 500)
    }

    private func names(of list: [String], _ name: (String) -> String?) -> String {
        list.map { name($0) ?? $0 }.joined(separator: say(.comma))
    }
}
