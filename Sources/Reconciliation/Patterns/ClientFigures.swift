/// The purchases that an app's customers made by one kind of program or device: how many are lost, of how many.
public struct ClientFigures: Hashable, Sendable {
    public let bundleID: BundleID
    public let trait: DeviceTrait
    public let value: String
    public let counts: PurchaseCounts

    public init(bundleID: BundleID, trait: DeviceTrait, value: String, counts: PurchaseCounts) {
        self.bundleID = bundleID
        self.trait = trait
        self.value = value
        self.counts = counts
    }
}

extension RunReport {
    /// Takes what many cases have in common, and the programs and devices that they come from.
    public mutating func take(_ facts: [PatternFacts]) {
        patterns = Pattern.all(in: facts)
        clients = facts.flatMap(\.clients)
    }
}

extension PatternFacts {
    /// The figures of each program and device with cases.
    public var clients: [ClientFigures] {
        traits.flatMap { trait, shares in
            shares.map { value, share in
                ClientFigures(bundleID: bundleID, trait: trait, value: value, counts: share.counts)
            }
        }
    }
}
