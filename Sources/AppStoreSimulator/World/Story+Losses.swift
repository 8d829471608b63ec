import Foundation

/// The ways in which a purchase is lost although something of it reached the server.
extension Story {
    /// S01: the callback never fired; the receipt comes with another purchase.
    mutating func playRodeAlong() {
        let moment = moment(leaving: 1.5 * Self.day)
        _ = buy(random.pick(catalog.consumables), at: moment)
        receive(random.pick(catalog.consumables), at: moment.addingTimeInterval(Self.day))
    }

    /// S02: the app's server could not be reached; the receipt comes the next day, a claim never.
    mutating func playNeverClaimed() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        upload(
            receipt(at: moment.addingTimeInterval(2)), for: transaction,
            at: moment.addingTimeInterval(Self.day))
    }

    /// S08: the server stored the receipt and did not deliver; the client finishes the consumable all the same.
    mutating func playFinishedUndelivered() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        upload(receipt(at: moment.addingTimeInterval(2)), for: transaction, at: moment.addingTimeInterval(3))
        finish(transaction)
        let launch = moment.addingTimeInterval(Self.day)
        upload(receipt(at: launch), at: launch.addingTimeInterval(20))
    }

    /// S11: one user pays and logs out, another logs in on the device; both hand the receipt in, nobody claims.
    mutating func playTwoUsers() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        let receipt = receipt(at: moment.addingTimeInterval(2))
        upload(receipt, for: transaction, at: moment.addingTimeInterval(3))
        upload(receipt, by: "u\(20_000_000 + customer.number)", at: moment.addingTimeInterval(3_600))
    }

    /// S12: a receipt holds three paid consumables, of which one was claimed.
    mutating func playOneOfThreeClaimed() {
        let moment = moment(leaving: 1.5 * Self.day)
        var bought: [SimulatedTransaction] = []
        for hour in 0..<3 {
            let at = moment.addingTimeInterval(Double(hour) * 3_600)
            bought.append(buy(random.pick(catalog.consumables), at: at))
        }
        let uploaded = moment.addingTimeInterval(3 * 3_600)
        let upload = upload(receipt(at: uploaded), for: bought[1], at: uploaded.addingTimeInterval(3))
        deliver(bought[1], from: upload, at: uploaded.addingTimeInterval(60))
    }

    /// S16: one genuine receipt, passed around; it is owed to the first.
    mutating func playManyUploaders() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        let receipt = receipt(at: moment.addingTimeInterval(2))
        upload(receipt, for: transaction, at: moment.addingTimeInterval(3))
        for other in 1...4 {
            upload(
                receipt, for: transaction, by: "u\(30_000_000 + customer.number * 10 + other)",
                at: moment.addingTimeInterval(Double(other) * 3_600))
        }
    }

    /// S20: copies in keychain and user defaults, each tried again and again, and never a claim.
    mutating func playTwentyCopies() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        let receipt = receipt(at: moment.addingTimeInterval(2))
        for copy in 1...20 {
            upload(receipt, for: transaction, at: moment.addingTimeInterval(Double(copy) * 600))
        }
    }

    /// S22: the claim's transaction fails halfway.
    mutating func playRolledBack() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        let upload = upload(
            receipt(at: moment.addingTimeInterval(2)), for: transaction, at: moment.addingTimeInterval(3))
        deliver(transaction, from: upload, at: moment.addingTimeInterval(10), isRolledBack: true)
    }

    /// S24: a client of old hands in an iOS 6 style receipt.
    mutating func playOldReceipt() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        var receipt = receipt(at: moment.addingTimeInterval(2))
        receipt.style = .transactionReceipt
        upload(receipt, for: transaction, at: moment.addingTimeInterval(3))
    }

    /// S09: a second purchase overwrites the receipt that the client kept of the first one, before it was uploaded;
    /// the client finished the first one all the same.
    mutating func playOverwrittenReceipt() {
        let moment = moment(leaving: 1.5 * Self.day)
        let first = buy(random.pick(catalog.consumables), at: moment)
        finish(first)
        receive(random.pick(catalog.consumables), at: moment.addingTimeInterval(3_600))
    }

    /// S25: a client of StoreKit 2 hands in the signed transaction.
    mutating func playSignedTransaction() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        var proof = receipt(at: moment.addingTimeInterval(2))
        proof.style = .signedTransaction
        proof.transactions = [transaction]
        upload(proof, for: transaction, at: moment.addingTimeInterval(3))
    }

    /// S17: lost as S02 is, until Apple refunds it some hours after the world's end.
    mutating func playRefundedTomorrow() {
        let moment = moment(leaving: 1.5 * Self.day)
        let transaction = buy(random.pick(catalog.consumables), at: moment)
        upload(receipt(at: moment.addingTimeInterval(2)), for: transaction, at: moment.addingTimeInterval(3_600))
        refund(transaction, at: now.addingTimeInterval(12 * 3_600))
    }
}
