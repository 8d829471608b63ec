import Reconciliation

/// After which runs somebody is told.
public enum NotificationTrigger: String, Sendable, CaseIterable {
    case always
    /// When orders are likely lost; and when the run was in trouble, for then nobody knows.
    case findings
    /// When the run did not end with 0.
    case trouble

    func includes(_ news: RunNews) -> Bool {
        switch self {
        case .always: true
        case .findings: news.state != .complete || (news.findings?.cases.total ?? 0) > 0
        case .trouble: news.state != .complete
        }
    }
}
