import Foundation

/// The service of Apple's that fails; each has its own words for it.
enum Service {
    case verifyReceipt
    case serverAPI
}

extension Answer {
    /// Applies a fault to a good answer. `random` chooses among a fault's variants; `now` is the real time, by which
    /// clients read `Retry-After`.
    func meeting(
        _ fault: Fault, of service: Service, random: UInt64, timeoutSeconds: Double, now: Date
    ) -> Answer {
        switch fault {
        case .timeout: delayed(by: timeoutSeconds)
        case .http500: Self.serverError(random)
        case .rateLimited: Self.rateLimited(service, inMilliseconds: random & 1 == 1, now: now)
        case .unavailable: Self.unavailable(service, random)
        case .internalError: service == .verifyReceipt ? Self.internalError(random) : Answer(ServerAPIError.unknown)
        case .malformed:
            service == .verifyReceipt
                ? Answer(body: VerifyReceipt.refusal(.malformed)) : Self.unavailable(service, random)
        case .truncated: truncated()
        case .html: Self.page(200, "Your request could not be completed")
        case .cut: cut()
        // The content of the answer is wrong already.
        case .forged, .foreign, .expiredToken: self
        }
    }

    private static func unavailable(_ service: Service, _ random: UInt64) -> Answer {
        switch service {
        case .verifyReceipt: Answer(body: VerifyReceipt.refusal(.unavailable))
        case .serverAPI: Answer(ServerAPIError.retryable[Int(random % 3)])
        }
    }

    private static func rateLimited(_ service: Service, inMilliseconds: Bool, now: Date) -> Answer {
        guard service == .verifyReceipt else { return .rateLimited(until: now.unixMilliseconds + 1000) }
        var answer = Answer.page(429, "Too Many Requests")
        answer.retryAfter = inMilliseconds ? String(now.unixMilliseconds + 1000) : "1"
        return answer
    }

    private static func serverError(_ random: UInt64) -> Answer {
        let errors: [(UInt32, String)] = [
            (500, "Internal Server Error"), (502, "Bad Gateway"), (503, "Service Unavailable"),
            (504, "Gateway Timeout"),
        ]
        let (status, title) = errors[Int(random % 4)]
        return page(status, title)
    }

    private static func internalError(_ random: UInt64) -> Answer {
        let status = random & 1 == 0 ? VerifyReceipt.Status.internalError.rawValue : 21100 + Int64(random >> 2 & 63)
        let field = random & 2 == 0 ? "is-retryable" : "is_retryable"
        var text = JSONText()
        text.object {
            $0.field("status", number: status)
            $0.field("environment", StoreEnvironment.production.rawValue)
            $0.field(field, bool: true)
        }
        return Answer(body: text.bytes)
    }

    private func delayed(by seconds: Double) -> Answer {
        var answer = self
        answer.delay += seconds
        return answer
    }

    private func truncated() -> Answer {
        var answer = self
        answer.body = Array(body.prefix(body.count / 2))
        return answer
    }

    private func cut() -> Answer {
        var answer = self
        answer.cutAfter = body.count / 2
        return answer
    }
}
