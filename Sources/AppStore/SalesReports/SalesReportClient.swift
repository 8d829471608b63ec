public import Foundation
public import HTTP

/// Fetches Apple's sales reports from App Store Connect: the daily Summary Sales report of a vendor
/// (https://developer.apple.com/documentation/appstoreconnectapi/get-v1-salesreports).
public struct SalesReportClient: Sendable {
    /// The result of asking for the report of a day. No text holds anything of the token or the key.
    public enum Outcome: Sendable, Hashable {
        /// The report, compressed with gzip.
        case report(Data)
        /// Apple has no report: nothing was sold on that day, or it is not ready yet.
        case notThere
        /// Nothing was learnt, and this night's attempts are used up: ask again.
        case tryAgain(TryAgain)
        /// Asking again won't help until somebody corrects the setting that the sentence names.
        case needsConfiguration(String)
        /// Nothing was sent: Apple is down.
        case notTried
    }

    private let settings: SalesReportSettings
    private let credentials: AppStoreConnectCredentials
    private let token: AppStoreConnectToken
    private let server: PacedEndpoint<SalesReportVerdict>
    private let questions = QuestionCounter()

    /// - Parameters:
    ///   - http: sends the requests.
    ///   - credentials: a key of the team whose role is Admin, Finance or Sales.
    ///   - pace: the clocks, the waiting and the random numbers.
    public init(
        http: HTTPClient, settings: SalesReportSettings, credentials: AppStoreConnectCredentials, pace: Pace = .real
    ) {
        self.settings = settings
        self.credentials = credentials
        token = AppStoreConnectToken(credentials, for: .team, date: pace.date)
        // There are thirty reports at most, so one after the other is fast enough.
        server = PacedEndpoint(
            concurrency: 1, retries: settings.retries, circuit: CircuitBreaker.Thresholds(), http: http, pace: pace)
    }

    /// Asks for the report of a day of Pacific Time.
    ///
    /// - Parameter day: such as `2026-11-20`.
    public func report(of day: String) async throws(CancellationError) -> Outcome {
        var answer = try await ask(day, version: nil)
        if case .verdict(.badRequest(let detail)) = answer, let version = Self.version(askedForIn: detail) {
            answer = try await ask(day, version: version)
        }
        switch answer {
        case .verdict(.report(let data)): return .report(data)
        case .verdict(.notThere): return .notThere
        case .verdict(.unauthorized): return .needsConfiguration(refused)
        case .verdict(.forbidden(let detail)): return .needsConfiguration(forbidden(detail))
        case .verdict(.badRequest(let detail)): return .needsConfiguration(badRequest(detail))
        case .verdict(.needsConfiguration(let what)): return .needsConfiguration(what)
        case .verdict(.failed(let why, _)): return .tryAgain(why)
        case .circuitOpen: return .notTried
        }
    }

    private func ask(
        _ day: String, version: String?
    ) async throws(CancellationError) -> PacedEndpoint<SalesReportVerdict>.Answer {
        try await server.ask(
            PacedEndpoint<SalesReportVerdict>.Question(
                number: questions.next(), limiter: nil,
                request: { () throws(HTTPError) in try self.request(day, version: version) },
                judge: { Exchange(salesReport: $0, now: $1) }))
    }

    /// The version in a refusal such as “Please include the version parameter. The latest version for this report is 1_1.”
    /// Apple has been seen to refuse reports that are asked for without one, and at other times with one. A later version
    /// has more columns, which are read by their names.
    private static func version(askedForIn detail: String) -> String? {
        guard let place = detail.range(of: "latest version for this report is ") else { return nil }
        let version = detail[place.upperBound...].prefix { $0.isASCII && ($0.isNumber || $0 == "_") }
        return version.isEmpty ? nil : String(version)
    }

    private func request(_ day: String, version: String?) throws(HTTPError) -> HTTPRequest {
        var filters = [
            ("frequency", "DAILY"), ("reportDate", day), ("reportSubType", "SUMMARY"), ("reportType", "SALES"),
            ("vendorNumber", settings.vendorNumber),
        ]
        if let version { filters.append(("version", version)) }
        let query = filters.map { "filter%5B\($0)%5D=\($1)" }.joined(separator: "&")
        let token: String
        do {
            token = try self.token.current()
        } catch {
            throw .invalidRequest("the App Store Connect key \(error)")
        }
        return HTTPRequest(
            method: "GET", url: "\(settings.address)/v1/salesReports?\(query)",
            headers: ["Authorization": "Bearer \(token)", "Accept": "application/a-gzip, application/json"],
            timeout: settings.timeout)
    }

    private var refused: String {
        """
        Apple refuses the App Store Connect key \(credentials.keyID) (HTTP status 401): compare issuer_id, key_id and \
        key_file in [sales] with App Store Connect, and this machine's clock with the time
        """
    }

    private func forbidden(_ detail: String) -> String {
        """
        Apple lets the App Store Connect key \(credentials.keyID) fetch no sales report (HTTP status 403): it needs the \
        role Admin, Finance or Sales, and vendor_number in [sales] must be its team's\(detail)
        """
    }

    private func badRequest(_ detail: String) -> String {
        """
        Apple does not understand what is asked for (HTTP status 400): compare vendor_number in [sales] with App Store \
        Connect\(detail)
        """
    }
}

/// How sales reports are fetched.
public struct SalesReportSettings: Sendable, Hashable {
    /// The vendor's number in App Store Connect, digits.
    public var vendorNumber: String
    /// The address without the path.
    public var address: String
    /// Seconds for one request.
    public var timeout: TimeInterval
    public var retries: Backoff

    /// The address of Apple's own App Store Connect API.
    public static let appStoreConnect = "https://api.appstoreconnect.apple.com"

    public init(
        vendorNumber: String, address: String = Self.appStoreConnect, timeout: TimeInterval = 120,
        retries: Backoff = Backoff()
    ) {
        self.vendorNumber = vendorNumber
        self.address = address.hasSuffix("/") ? String(address.dropLast()) : address
        self.timeout = timeout
        self.retries = retries
    }
}
