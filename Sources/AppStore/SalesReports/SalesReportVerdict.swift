import Foundation
import HTTP

/// What one answer to the request for a sales report means.
enum SalesReportVerdict: Sendable, Hashable {
    case report(Data)
    case notThere
    /// HTTP status 401.
    case unauthorized
    /// HTTP status 403, with what Apple says of it.
    case forbidden(String)
    /// HTTP status 400, with what Apple says of it.
    case badRequest(String)
    case needsConfiguration(String)
    case failed(TryAgain, worthRetrying: Bool)
}

extension SalesReportVerdict: EndpointVerdict {
    var failure: (why: TryAgain, worthRetrying: Bool)? {
        if case .failed(let why, let worthRetrying) = self { (why, worthRetrying) } else { nil }
    }
}

extension Exchange where Meaning == SalesReportVerdict {
    /// Judges a response. Only what App Store Connect itself says is believed: if an intermediary answered, Apple is
    /// asked again.
    init(salesReport response: HTTPResponse, now: Date) {
        let refusal = AppStoreConnectRefusal(response.body)
        switch (response.status, refusal) {
        case (200, _): self.init(Self.report(response.body), load: .served, health: .up)
        case (404, let refusal?) where refusal.code == "NOT_FOUND":
            self.init(.notThere, load: .served, health: .up)
        case (401, _): self.init(.unauthorized, load: .served, health: .up)
        case (403, let refusal?): self.init(.forbidden(refusal.detail), load: .served, health: .up)
        case (400, let refusal?): self.init(.badRequest(refusal.detail), load: .served, health: .up)
        default: self.init(unanswered: response, now: now)
        }
    }

    private static func report(_ body: Data) -> SalesReportVerdict {
        body.starts(with: [0x1F, 0x8B])
            ? .report(body) : .failed(.unreadable("a sales report that gzip did not compress"), worthRetrying: true)
    }
}

/// The body of an answer of the App Store Connect API that is an error
/// (https://developer.apple.com/documentation/appstoreconnectapi/errorresponse).
private struct AppStoreConnectRefusal {
    let code: String
    /// What Apple says of it, to follow a sentence; empty if it says nothing.
    let detail: String

    /// `nil` if the body is not such an object.
    init?(_ body: Data) {
        guard let first = try? JSONDecoder().decode(Answer.self, from: body).errors.first else { return nil }
        code = first.code
        detail = first.detail.map { ": “\($0.prefix(200))”" } ?? ""
    }

    private struct Answer: Decodable {
        struct Problem: Decodable {
            let code: String
            let detail: String?
        }

        let errors: [Problem]
    }
}
