import Reconciliation

/// The runs after which somebody is told.
public enum NotificationTrigger: String, Sendable, CaseIterable {
    case always
    /// If orders are likely lost, if the run was in trouble, since then nobody knows, or if a figure has reached its
    /// threshold.
    case findings
    /// If the run did not end with 0, or a figure has reached its threshold.
    case trouble

    func includes(_ news: RunNews) -> Bool {
        switch self {
        case .always: true
        case .findings: Self.trouble.includes(news) || (news.findings?.cases.total ?? 0) > 0
        case .trouble: news.state != .complete || news.findings?.alerts.isEmpty == false
        }
    }
}
