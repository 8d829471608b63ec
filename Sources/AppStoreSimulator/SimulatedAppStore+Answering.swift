import Foundation
import Synchronization

extension SimulatedAppStore {
    /// A counted request, with what its answer depends on.
    private struct Admitted {
        let records: StoreRecords
        let version: Int
        let isOut: Bool
        /// Identifies the request: the same question to the same endpoint has the same hash.
        let hash: UInt64
        /// How often it came before.
        let attempt: UInt64
    }

    func respond(to request: Request) -> Answer {
        for environment in StoreEnvironment.allCases where request.path.hasPrefix(environment.pathPrefix) {
            let path = request.path.dropFirst(environment.pathPrefix.count)
            if path == "/verifyReceipt" { return verifyReceipt(request, environment) }
            guard let question = ServerAPIRequest(request, path: path) else { break }
            return serverAPI(question, environment)
        }
        return request.path == SalesEndpoint.path ? salesReport(request) : .page(404, "Not Found")
    }

    private func salesReport(_ request: Request) -> Answer {
        let admitted = admit(StableHash.of(request.path.utf8), .production) { $0.salesReports += 1 }
        if admitted.isOut { return .page(503, "Service Unavailable") }
        let endpoint = SalesEndpoint(reports: state.withLock { $0.salesReports }, key: apiKey, now: now())
        return endpoint.answer(to: request, at: Date())
    }

    private func verifyReceipt(_ request: Request, _ environment: StoreEnvironment) -> Answer {
        let question = VerifyReceipt.Request(body: request.body)
        let hash = StableHash.of((question?.receiptData ?? "").utf8)
        let admitted = admit(hash, environment) { $0.byEndpoint[environment, default: 0] += 1 }
        if admitted.isOut { return .page(503, "Service Unavailable") }
        guard request.method == "POST" else { return Answer(body: VerifyReceipt.refusal(.notPosted)) }
        let body = VerifyReceipt(signer: signer)
            .answer(to: question, at: environment, records: admitted.records, now: now())
        return meeting(fault(of: admitted), Answer(body: body), of: .verifyReceipt, admitted)
    }

    private func serverAPI(_ request: ServerAPIRequest, _ environment: StoreEnvironment) -> Answer {
        let admitted = admit(request.hash, environment) { $0.byServerAPIEndpoint[request.endpoint, default: 0] += 1 }
        if admitted.isOut { return .page(503, "Service Unavailable") }
        let realNow = Date()
        guard let token = APIToken(authorization: request.authorization, key: apiKey, now: realNow),
            let app = token.bundleID.flatMap({ admitted.records.apps[$0] }), environment == .sandbox || app.isReleased
        else {
            state.withLock { $0.counts.unauthenticated += 1 }
            return .unauthenticated
        }
        let line = RateGate.Line(bundleID: app.bundleID, endpoint: request.endpoint, environment: environment)
        if let until = rateGate.pass(line, at: realNow) {
            state.withLock { $0.counts.rateLimited += 1 }
            return .rateLimited(until: until.unixMilliseconds)
        }
        let fault = fault(of: admitted)
        let keys = fault == .forged ? TestKeys.stranger : signer.keys
        let api = ServerAPI(
            signer: PayloadSigner(keys.payloads), records: admitted.records, app: app, environment: environment,
            now: now(),
            notices: { [notices] in
                notices.all(of: app.bundleID, in: environment, admitted.records, version: admitted.version)
            }, fault: fault)
        return meeting(fault, api.answer(to: request), of: .serverAPI, admitted)
    }

    /// Every notification that an app was sent so far, as Apple posts it to the app's URL (`signedPayload`).
    public func notifications(of bundleID: String, in environment: StoreEnvironment = .production) -> [String] {
        let (records, version) = state.withLock { ($0.records, $0.version) }
        guard let app = records.apps[bundleID] else { return [] }
        let api = ServerAPI(
            signer: PayloadSigner(signer.keys.payloads), records: records, app: app, environment: environment,
            now: now())
        return notices.all(of: bundleID, in: environment, records, version: version)
            .filter { $0.at <= api.now }.map { api.signed($0) }
    }

    private func fault(of admitted: Admitted) -> Fault? {
        let fault = faults.fault(seed: seed, request: admitted.hash, attempt: admitted.attempt)
        if let fault { state.withLock { $0.counts.byFault[fault, default: 0] += 1 } }
        return fault
    }

    private func meeting(_ fault: Fault?, _ answer: Answer, of service: Service, _ admitted: Admitted) -> Answer {
        var answer = answer
        if let latency { answer.delay = latency.delay(Mix.value(seed, admitted.hash, admitted.attempt, 1)) }
        guard let fault else { return answer }
        let random = Mix.value(seed, admitted.hash, admitted.attempt, 2)
        return answer.meeting(
            fault, of: service, random: random, timeoutSeconds: faults.timeoutSeconds, now: Date())
    }

    private func admit(
        _ questionHash: UInt64, _ environment: StoreEnvironment, count: (inout RequestCounts) -> Void
    ) -> Admitted {
        let isAttemptKept = !faults.isNone || latency != nil
        let hash = Mix.value(questionHash, StableHash.of(environment.rawValue.utf8))
        return state.withLock { state in
            count(&state.counts)
            let isOut = state.isOut || outageAfter.map { state.counts.total > $0 } ?? false
            if isOut { state.counts.duringOutage += 1 }
            let attempt = state.attempts[hash, default: 0]
            if isAttemptKept, !isOut { state.attempts[hash] = attempt + 1 }
            return Admitted(
                records: state.records, version: state.version, isOut: isOut, hash: hash, attempt: attempt)
        }
    }
}

extension StoreEnvironment {
    /// The prefix of its endpoints' paths.
    fileprivate var pathPrefix: String {
        switch self {
        case .production: "/production"
        case .sandbox: "/sandbox"
        }
    }
}

extension ServerAPIRequest {
    fileprivate var hash: UInt64 {
        let arguments = query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        return Mix.value(StableHash.of("\(endpoint.rawValue) \(id) \(arguments)".utf8), StableHash.of(body))
    }
}
