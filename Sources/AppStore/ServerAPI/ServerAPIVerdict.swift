import Foundation
import HTTP

/// What one answer of the App Store Server API means, before it is read.
enum ServerAPIVerdict: Sendable, Hashable {
    /// HTTP status 200, with this body.
    case answered(Data)
    case notFound(ServerAPIAbsence)
    /// HTTP status 401, which wrong keys get, and from production every key of an app that was never released.
    case unauthorized
    /// Apple knows no app with the bundle id that the token names.
    case unknownApp
    case needsConfiguration(String)
    /// Nothing was learnt. `worthRetrying` is about this run.
    case failed(TryAgain, worthRetrying: Bool)
}

extension ServerAPIVerdict: EndpointVerdict {
    var failure: (why: TryAgain, worthRetrying: Bool)? {
        if case .failed(let why, let worthRetrying) = self { (why, worthRetrying) } else { nil }
    }
}

extension Exchange where Meaning == ServerAPIVerdict {
    /// Judges a response to an operation.
    init(_ response: HTTPResponse, to operation: ServerAPIOperation, now: Date) {
        switch response.status {
        case 200:
            self.init(.answered(response.body), load: .served, health: .up)
        case 401:
            self.init(.unauthorized, load: .served, health: .up)
        case 400, 403, 404, 500...599:
            self.init(ServerAPIFailure(response.body, of: operation), in: response, now: now)
        default:
            self.init(unanswered: response, now: now)
        }
    }

    /// - Parameter failure: what the body says; `nil` if the body is not Apple's.
    private init(_ failure: ServerAPIFailure?, in response: HTTPResponse, now: Date) {
        guard let failure else {
            self.init(unanswered: response, now: now)
            return
        }
        switch failure.meaning {
        case .notFound, .answered, .unauthorized, .unknownApp, .needsConfiguration, .failed(.pageTokenRefused, _),
            .failed(.questionRefused, _):
            self.init(failure.meaning, load: .served, health: .up)
        case .failed:
            self.init(
                failure.meaning, load: AdaptiveLimit.Sign(unanswered: response.status),
                health: response.status >= 500 ? .down : .busy)
        }
        retryAfter = RetryAfter.seconds(in: response.headers, now: now)
    }
}

/// The body of an error answer: `{"errorCode": 4040010, "errorMessage": "Transaction id not found."}`.
struct ServerAPIFailure {
    private let operation: ServerAPIOperation
    private let code: Int
    private let message: String?

    /// `nil` if the body is not such an object.
    init?(_ body: Data, of operation: ServerAPIOperation) {
        guard let fields = try? JSONDecoder().decode(Fields.self, from: body) else { return nil }
        self.operation = operation
        code = fields.errorCode
        message = fields.errorMessage.map { String($0.prefix(200)) }
    }

    var meaning: ServerAPIVerdict {
        if operation == .notificationHistory, let refusal = refusalOfNotifications {
            .failed(refusal, worthRetrying: false)
        } else {
            meaningForAll
        }
    }

    /// What the code means for all operations.
    private var meaningForAll: ServerAPIVerdict {
        switch code {
        case 4_000_006, 4_040_001, 4_040_005, 4_040_010:
            ServerAPIAbsence(rawValue: code).map(ServerAPIVerdict.notFound) ?? undocumented
        case 4_040_003: .unknownApp
        case 4_040_002, 4_040_004, 4_040_006, 5_000_001, 4_290_000:
            .failed(.busy(status: code, exception: message), worthRetrying: true)
        case 5_000_000:
            // Apple says that the same request won't do better now, which says nothing about the transaction.
            .failed(.busy(status: code, exception: message), worthRetrying: false)
        default:
            undocumented
        }
    }

    /// Codes that only Get Notification History answers, or that mean something else there.
    private var refusalOfNotifications: TryAgain? {
        switch code {
        case 4_000_006, 4_000_014, 4_000_017: .pageTokenRefused(code: code)
        case 4_000_012: .questionRefused(code: code, meaning: "the start is too far in the past")
        case 4_000_013: .questionRefused(code: code, meaning: "the start is not before the end")
        case 4_000_015: .questionRefused(code: code, meaning: "the start is no date of Apple's")
        case 4_000_016: .questionRefused(code: code, meaning: "the end is no date of Apple's")
        case 4_000_018: .questionRefused(code: code, meaning: "no notification has such a type or subtype")
        case 4_000_019: .questionRefused(code: code, meaning: "a transaction and a type exclude each other")
        default: nil
        }
    }

    private var undocumented: ServerAPIVerdict {
        .failed(.unknownStatus(code, exception: message), worthRetrying: false)
    }

    private struct Fields: Decodable {
        let errorCode: Int
        let errorMessage: String?

        private enum Key: CodingKey { case errorCode, errorMessage }

        /// Decodes the code, which may come as text, as Apple's numbers do elsewhere.
        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: Key.self)
            errorMessage = try? fields.decode(String.self, forKey: .errorMessage)
            if let text = try? fields.decode(String.self, forKey: .errorCode), let code = Int(text) {
                errorCode = code
            } else {
                errorCode = try fields.decode(Int.self, forKey: .errorCode)
            }
        }
    }
}
