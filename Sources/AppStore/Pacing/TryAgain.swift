/// Why Apple must be asked again: what a receipt or a transaction is worth, it did not say.
public enum TryAgain: Sendable, Hashable {
    /// Apple answered, but not now: 21005, 21009, 21100–21199 of `verifyReceipt`, 4040002, 5000001 … of the App Store
    /// Server API; with the exception or message that Apple named.
    case busy(status: Int, exception: String?)
    /// A status that Apple's documentation doesn't have.
    case unknownStatus(Int, exception: String?)
    /// Apple does not take the token by which the next page was asked for, or no longer: the caller begins anew, with the
    /// first page.
    case pageTokenRefused(code: Int)
    /// Apple takes the question for a wrong one: the fault is this program's, and the same question won't do better.
    case questionRefused(code: Int, meaning: String)
    /// An HTTP status other than 200.
    case http(Int)
    /// `Retry-After` asked for longer than a run waits.
    case waitTooLong(http: Int, seconds: Int)
    /// No answer came: the sentence says what the connection died of.
    case noAnswer(String)
    /// What came is not an answer of Apple's: HTML, truncated JSON; the sentence says what.
    case unreadable(String)
    /// `verifyReceipt` calls a receipt genuine, and its answer holds none.
    case noReceipt(status: Int)
    /// Production says the receipt is sandbox's, and sandbox that it is production's.
    case noEnvironment
    /// Production named sandbox, and sandbox is down.
    case sandboxDown

    /// Whether Apple's servers could not be reached, or could not answer at all.
    public var isTransport: Bool {
        switch self {
        case .noAnswer, .sandboxDown: true
        case .http(let status), .waitTooLong(let status, _): status >= 500
        case .busy, .unknownStatus, .pageTokenRefused, .questionRefused, .unreadable, .noReceipt, .noEnvironment: false
        }
    }

    /// What happened, in a sentence.
    public var text: String {
        switch self {
        case .busy(let status, let exception):
            "Apple answered status \(status), try again later\(Self.naming(exception))"
        case .unknownStatus(let status, let exception):
            "Apple answered status \(status), which is not documented\(Self.naming(exception))"
        case .pageTokenRefused(let code):
            "Apple does not take the token of the next page (\(code)); it is asked for from the first page anew"
        case .questionRefused(let code, let meaning): "Apple refuses the question (\(code)): \(meaning)"
        case .http(429): "Apple answered HTTP status 429, too many requests"
        case .http(let status): "Apple answered HTTP status \(status)"
        case .waitTooLong(let status, let seconds):
            "Apple answered HTTP status \(status) and asked to wait \(seconds) seconds, longer than a run waits"
        case .noAnswer(let why): "Apple did not answer: \(why)"
        case .unreadable(let why): "Apple's answer could not be read: \(why)"
        case .noReceipt(let status): "Apple's answer could not be read: status \(status) without a receipt"
        case .noEnvironment: "Apple's production (21007) and sandbox (21008) each say that the receipt is the other's"
        case .sandboxDown: "Apple's production said to ask sandbox, and Apple's sandbox is down"
        }
    }

    /// This trouble, of a server that asks to wait longer than a run does.
    func asking(toWait seconds: Double) -> TryAgain {
        guard case .http(let status) = self else { return self }
        return .waitTooLong(http: status, seconds: Int(min(seconds.rounded(.up), 1e12)))
    }

    private static func naming(_ exception: String?) -> String {
        exception.map { " (\($0))" } ?? ""
    }
}
