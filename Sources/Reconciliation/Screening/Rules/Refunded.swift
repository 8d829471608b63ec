extension ScreeningRule {
    /// Apple took the purchase back (`cancellation_date`, `revocationDate`).
    static let refunded = ScreeningRule { subject in
        subject.transaction.refundedAt != nil
    }
}
