import Foundation

extension Answer {
    /// What becomes of a good answer that meets a fault. `random` chooses among a fault's variants; `now` is the
    /// real time, by which clients read `Retry-After`.
    func meeting(_ fault: Fault, random: UInt64, timeoutSeconds: Double, now: Date) -> Answer {
        switch fault {
        case .timeout: delayed(by: timeoutSeconds)
        case .http500: Self.serverError(random)
        case .rateLimited: Self.rateLimited(inMilliseconds: random & 1 == 1, now: now)
        case .unavailable: Answer(body: VerifyReceipt.refusal(.unavailable))
        case .internalError: Self.internalError(random)
        case .truncated: truncated()
        case .html: Self.page(200, "Your request could not be completed")
        case .cut: cut()
        }
    }

    static func rateLimited(inMilliseconds: Bool, now: Date) -> Answer {
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
