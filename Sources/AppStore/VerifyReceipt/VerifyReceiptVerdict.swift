import Foundation

/// What one answer of an endpoint means, and whether asking the same again in this run could help.
enum VerifyReceiptVerdict: Sendable, Hashable {
    case settled(VerifyReceiptOutcome)
    /// 21007 from production, 21008 from sandbox.
    case otherEnvironment
    /// Nothing was learnt. `worthRetrying` is about this run.
    case failed(TryAgain, worthRetrying: Bool)

    /// The verdict on a body that came with HTTP status 200. `endpoint` is the environment that was asked,
    /// `hasSecret` whether a shared secret went along.
    init(body: Data, endpoint: ServerEnvironment, hasSecret: Bool) {
        let json = Self.withoutByteOrderMark(body)
        guard let answer = JSONObject(Array(json)).map(AnswerBody.init) else {
            self = .failed(.unreadable(Self.describe(json)), worthRetrying: true)
            return
        }
        guard let status = answer.status else {
            self = .failed(.unreadable("it has no status"), worthRetrying: true)
            return
        }
        self = VerifyReceiptVerdict(status: status, of: answer, endpoint: endpoint, hasSecret: hasSecret)
    }

    private init(status: Int, of answer: AnswerBody, endpoint: ServerEnvironment, hasSecret: Bool) {
        switch status {
        case 0, 21006:
            guard let genuine = answer.answer(endpoint: endpoint.rawValue) else {
                self = .failed(.noReceipt(status: status), worthRetrying: true)
                return
            }
            if endpoint == .sandbox, genuine.environment == ServerEnvironment.production.rawValue {
                // Nobody paid for what is sandbox's, so it must not become owed.
                self = .failed(.unreadable("it comes from sandbox, and names production"), worthRetrying: false)
            } else {
                self = .settled(.genuine(genuine))
            }
        case 21000: self = .settled(.needsConfiguration(Self.notPosted))
        case 21002: self = .settled(.malformedOrOutage(status: status))
        case 21003: self = .settled(.notGenuine(status: status))
        case 21004: self = .settled(.needsSecret(hasSecret ? Self.wrongSecret : Self.noSecret))
        case 21007 where endpoint == .production: self = .otherEnvironment
        case 21008 where endpoint == .sandbox: self = .otherEnvironment
        case 21010: self = .settled(.accountGone)
        case 21005, 21009, 21100...21199: self = Self.internalError(status, of: answer)
        default:
            self = .failed(.unknownStatus(status, exception: answer.exception), worthRetrying: false)
        }
    }

    /// Trouble at Apple's. It is blamed on the receipt only if Apple says, with 21100–21199, that a retry is of no use.
    private static func internalError(_ status: Int, of answer: AnswerBody) -> VerifyReceiptVerdict {
        if status >= 21100, answer.isRetryable == false { return .settled(.malformedOrOutage(status: status)) }
        return .failed(
            .busy(status: status, exception: answer.exception), worthRetrying: answer.isRetryable != false)
    }

    private static let notPosted = """
        Apple says that the request was not a POST (21000): a proxy, or a redirect of the configured address, \
        changes it
        """
    private static let wrongSecret = """
        Apple refuses the app's shared secret (21004): compare it with App Store Connect
        """
    private static let noSecret = """
        Apple asks for the app's shared secret (21004), and none is configured: make one in App Store Connect
        """

    private static func withoutByteOrderMark(_ body: Data) -> Data {
        body.starts(with: [0xEF, 0xBB, 0xBF]) ? body.dropFirst(3) : body
    }

    /// What kind of body it is, without a word of its content.
    private static func describe(_ body: Data) -> String {
        switch body.first(where: { $0 > 0x20 }) {
        case nil: "it is empty"
        case UInt8(ascii: "<"): "it is HTML, not JSON (\(body.count) bytes)"
        case UInt8(ascii: "{"): "its JSON is broken or cut short (\(body.count) bytes)"
        default: "it is not JSON (\(body.count) bytes)"
        }
    }
}
