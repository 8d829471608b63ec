/// Why Apple must be asked again, having not said what a receipt or a transaction is worth.
public enum TryAgain: Sendable, Hashable {
    /// Apple answered “not now”: 21005, 21009, 21100–21199 of `verifyReceipt`, 4040002, 5000001 … of the App Store
    /// Server API; with the exception or message that Apple named.
    case busy(status: Int, exception: String?)
    /// A status that Apple's documentation doesn't have.
    case unknownStatus(Int, exception: String?)
    /// Apple does not take, or no longer takes, the token for the next page: the caller begins anew, with the first
    /// page.
    case pageTokenRefused(code: Int)
    /// Apple calls the question wrong. This program is at fault, and the same question won't do better.
    case questionRefused(code: Int, meaning: String)
    /// An HTTP status other than 200.
    case http(Int)
    /// `Retry-After` asked for longer than a run waits.
    case waitTooLong(http: Int, seconds: Int)
    /// No answer came; the sentence says why the connection failed.
    case noAnswer(String)
    /// The response is not an answer of Apple's, such as HTML or truncated JSON; the sentence says what it is.
    case unreadable(String)
    /// `verifyReceipt` calls the receipt genuine, but its answer holds none.
    case noReceipt(status: Int)
    /// Production says that the receipt is sandbox's, and sandbox that it is production's.
    case noEnvironment
    /// Production referred to sandbox, and sandbox is down.
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

    /// The reason to try again, if the server also asks to wait longer than a run does.
    func asking(toWait seconds: Double) -> TryAgain {
        guard case .http(let status) = self else { return self }
        return .waitTooLong(http: status, seconds: Int(min(seconds.rounded(.up), 1e12)))
    }

    /// The reason without the server's own words, if they repeat a secret. They may have been shortened within it.
    func hiding(_ secret: String) -> TryAgain {
        let beginning = secret.prefix(8)
        switch self {
        case .busy(let status, let exception?) where exception.contains(beginning):
            return .busy(status: status, exception: nil)
        case .unknownStatus(let status, let exception?) where exception.contains(beginning):
            return .unknownStatus(status, exception: nil)
        default:
            return self
        }
    }

    private static func naming(_ exception: String?) -> String {
        exception.map { " (\($0))" } ?? ""
    }
}
