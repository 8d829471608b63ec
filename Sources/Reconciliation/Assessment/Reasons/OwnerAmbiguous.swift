extension ReasonRule {
    /// More than one user presented it: a shared phone, a login change, or a receipt that was passed around.
    static let ownerAmbiguous = ReasonRule(.ownerAmbiguous) { facts in
        Owner(of: facts).candidates.count > 1
    }
}
