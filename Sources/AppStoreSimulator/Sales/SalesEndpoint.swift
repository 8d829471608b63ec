import Foundation

/// The sales reports of the App Store Connect API, as a function from a request to the answer.
struct SalesEndpoint {
    static let path = "/v1/salesReports"

    let reports: @Sendable (String) -> [UInt8]?
    let key: APIKey
    /// The store's present moment.
    let now: Date

    /// - Parameter realNow: the real time, by which tokens expire.
    func answer(to request: Request, at realNow: Date) -> Answer {
        guard let token = APIToken(authorization: request.authorization, key: key, now: realNow), token.bundleID == nil
        else { return Self.refusal(401, "NOT_AUTHORIZED", "Provide a properly configured and signed bearer token.") }
        guard value("vendorNumber", of: request) == SalesReport.vendorNumber else {
            return Self.refusal(400, "PARAMETER_ERROR.INVALID", "Invalid vendor number specified.")
        }
        let asked = ["frequency": "DAILY", "reportSubType": "SUMMARY", "reportType": "SALES"]
        guard request.method == "GET", let day = value("reportDate", of: request),
            asked.allSatisfy({ value($0.key, of: request) == $0.value })
        else { return Self.refusal(400, "PARAMETER_ERROR.INVALID", "The parameter is invalid.") }
        guard isReady(day) else { return Self.refusal(404, "NOT_FOUND", "Report is not available yet.") }
        guard let body = reports(day) else {
            return Self.refusal(404, "NOT_FOUND", "There were no sales for the date specified.")
        }
        var answer = Answer(body: body)
        answer.contentType = "application/a-gzip"
        return answer
    }

    private func value(_ filter: String, of request: Request) -> String? {
        request.query.first { $0.name == "filter[\(filter)]" }?.value
    }

    /// Whether a day's report is ready: it is from eight o'clock of the next morning on, in Pacific Time.
    private func isReady(_ day: String) -> Bool { day < SalesReport.pacificDay(of: now.addingTimeInterval(-8 * 3600)) }

    private static func refusal(_ status: UInt32, _ code: String, _ detail: String) -> Answer {
        Answer(status: status) { answer in
            answer.array("errors") { list in
                list.object { problem in
                    problem.field("status", "\(status)")
                    problem.field("code", code)
                    problem.field("detail", detail)
                }
            }
        }
    }
}
