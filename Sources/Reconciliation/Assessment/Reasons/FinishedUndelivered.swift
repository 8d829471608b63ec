extension ReasonRule {
    /// A receipt held the consumable, and a later one of the same user doesn't: the client finished it before the
    /// server delivered it. Apple keeps a consumable in receipts until it is finished, and no longer.
    static let finishedUndelivered = ReasonRule { matter in
        matter.facts.isMissingLater && (matter.facts.productType ?? .consumable) == .consumable
    }
}
