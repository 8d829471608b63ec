/// An error in the words of the App Store Server API.
struct ServerAPIError: Error, Hashable {
    let status: UInt32
    let code: Int64
    let message: String

    static let badRequest = ServerAPIError(status: 400, code: 4_000_000, message: "Bad request.")
    static let invalidRevision = ServerAPIError(status: 400, code: 4_000_005, message: "Invalid request revision.")
    static let invalidTransactionID = ServerAPIError(status: 400, code: 4_000_006, message: "Invalid transaction id.")
    static let startDateTooFarInPast = ServerAPIError(
        status: 400, code: 4_000_012,
        message: "Invalid request. The start date is earlier than the allowed start date.")
    static let startDateAfterEndDate = ServerAPIError(
        status: 400, code: 4_000_013,
        message: "Invalid request. The end date precedes the start date or the dates are equal.")
    static let invalidPaginationToken = ServerAPIError(
        status: 400, code: 4_000_014, message: "Invalid request. The pagination token is invalid.")
    static let invalidStartDate = ServerAPIError(
        status: 400, code: 4_000_015, message: "Invalid request. The start date is invalid.")
    static let invalidEndDate = ServerAPIError(
        status: 400, code: 4_000_016, message: "Invalid request. The end date is invalid.")
    static let paginationTokenExpired = ServerAPIError(
        status: 400, code: 4_000_017, message: "Invalid request. The pagination token has expired.")
    static let invalidNotificationType = ServerAPIError(
        status: 400, code: 4_000_018,
        message: "Invalid request. The notification type or subtype is invalid.")
    static let multipleFilters = ServerAPIError(
        status: 400, code: 4_000_019,
        message: "Invalid request. Supply either a transaction id or a notification type, but not both.")
    static let invalidSort = ServerAPIError(
        status: 400, code: 4_000_021, message: "Invalid request. The sort parameter is invalid.")
    static let invalidProductType = ServerAPIError(
        status: 400, code: 4_000_022, message: "Invalid request. The product type parameter is invalid.")
    static let invalidOwnershipType = ServerAPIError(
        status: 400, code: 4_000_026, message: "Invalid request. The in-app ownership type parameter is invalid.")
    static let invalidRevoked = ServerAPIError(
        status: 400, code: 4_000_030, message: "Invalid request. The revoked parameter is invalid.")
    static let invalidStatus = ServerAPIError(
        status: 400, code: 4_000_031, message: "Invalid request. The status parameter is invalid.")
    static let appTransactionID = ServerAPIError(
        status: 400, code: 4_000_048, message: "Invalid request. An app transaction id can't be used here.")
    static let accountNotFound = ServerAPIError(status: 404, code: 4_040_001, message: "Account not found.")
    static let transactionIDNotFound = ServerAPIError(
        status: 404, code: 4_040_010, message: "Transaction id not found.")
    static let rateLimited = ServerAPIError(status: 429, code: 4_290_000, message: "Rate limit exceeded.")

    /// The codes that ask to try again.
    static let retryable = [
        ServerAPIError(status: 404, code: 4_040_002, message: "Account not found. Please try again."),
        ServerAPIError(status: 404, code: 4_040_004, message: "App not found. Please try again."),
        ServerAPIError(status: 404, code: 4_040_006, message: "Original transaction id not found. Please try again."),
    ]
    static let unknown = ServerAPIError(
        status: 500, code: 5_000_001, message: "An unknown error occurred. Please try again.")
}

extension Answer {
    init(_ error: ServerAPIError) {
        self.init(status: error.status) {
            $0.field("errorCode", number: error.code)
            $0.field("errorMessage", error.message)
        }
    }

    /// Makes an answer with an object as its body.
    init(status: UInt32 = 200, _ write: (inout JSONText) -> Void) {
        var text = JSONText(capacity: 1024)
        text.object(nil, write)
        self.init(status: status, body: text.bytes)
    }

    /// The answer to a token that can't be trusted, which is not JSON.
    static let unauthenticated: Answer = {
        var answer = Answer(status: 401, body: Array("Unauthenticated\n".utf8))
        answer.contentType = "text/plain;charset=UTF-8"
        return answer
    }()

    /// - Parameter until: in real time; Apple writes UNIX milliseconds.
    static func rateLimited(until milliseconds: Int64) -> Answer {
        var answer = Answer(ServerAPIError.rateLimited)
        answer.retryAfter = String(milliseconds)
        return answer
    }
}
