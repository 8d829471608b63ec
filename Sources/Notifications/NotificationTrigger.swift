import Reconciliation

/// After which runs somebody is told.
public enum NotificationTrigger: String, Sendable, CaseIterable {
    case always
    /// When orders are likely lost; and when the run was in trouble, for then nobody knows, or a figure has reached its
    /// threshold.
    case findings
    /// When the run did not end with 0, or a figure has reached its threshold.
    case trouble

    func includes(_ news: RunNews) -> Bool {
        switch self {
        case .always: true
        case .findings: Self.trouble.includes(news) || (news.findings?.cases.total ?? 0) > 0
        case .trouble: news.state != .complete || news.findings?.alerts.isEmpty == false
        }
    }
}
