extension ReasonRule {
    /// More than one user may be the owner: a shared phone, a login change, or a receipt that was passed around.
    static let ownerAmbiguous = ReasonRule { $0.owner.candidates.count > 1 }
}
