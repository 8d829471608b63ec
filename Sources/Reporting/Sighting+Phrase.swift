import Reconciliation

extension Sighting {
    /// How the purchase was seen in the receipt, or by it.
    var phrase: Phrase { isNamed ? .uploadedFor : isInReceipt ? .uploadedAlong : .inHistory }
}
