import AppStore
import Foundation
import Job
import Reconciliation
import Verification

extension AppleAnswer {
    /// Why nothing of an id is known, in a sentence.
    func whyNothing(_ id: String) -> String {
        switch self {
        case .notNeeded: "Apple was not asked about \(id)."
        case .notAsked(let why): "Apple could not be asked about \(id): \(why)"
        case .asked(let answers):
            answers.map { answer in
                switch answer.finding {
                case .found: "\(answer.bundleID): Apple names no purchase."
                case .notFound(let what): "\(answer.bundleID): \(what)."
                case .failed(let why): "\(answer.bundleID): \(why); nothing was changed, try again."
                case .notAsked(let why): "\(answer.bundleID) was not asked about: \(why)."
                }
            }.joined(separator: " ")
        }
    }
}

/// What to ask Apple about an id that the ledger alone can't answer for.
enum AppleQuestion: Hashable {
    /// An order's id as Apple's invoice names it, such as `MK5TTTVWJH`: no receipt holds it, so only Apple knows which
    /// transactions it stands for.
    case invoice(String)
    /// An id of a transaction that never came.
    case transaction(String)

    /// `nil` if the ledger's answer is enough, or if Apple can't know such an id.
    init?(_ enquiry: Enquiry) {
        guard enquiry.transactions.isEmpty, enquiry.orders.isEmpty, enquiry.user == nil else { return nil }
        self.init(id: enquiry.id)
    }

    /// `nil` if Apple can't know such an id.
    init?(id: String) {
        if id.wholeMatch(of: /M[A-Z0-9]{5,31}/) != nil {
            self = .invoice(id)
        } else if id.wholeMatch(of: /[0-9]{9,32}/) != nil {
            self = .transaction(id)
        } else {
            return nil
        }
    }

    /// Asks for each app that has a key, or for one alone.
    ///
    /// - Parameter settings: the settings with the apps' keys.
    func ask(_ settings: () throws -> JobSettings, for bundleID: BundleID? = nil) async -> AppleAnswer {
        do {
            var settings = try settings()
            if let bundleID {
                settings.apps.removeAll { $0.app.bundleID != bundleID }
                guard !settings.apps.isEmpty else { return .notAsked("There is no section [app \(bundleID)].") }
            }
            let clients = try Self.clients(settings)
            guard !clients.isEmpty else {
                let which = bundleID.map { "The app \($0) has no" } ?? "No app has a"
                return .notAsked("\(which) key for the App Store Server API; see server_api_key_file.")
            }
            var answers: [AppleAnswer.Answer] = []
            for (bundleID, client) in clients.sorted(by: { $0.key < $1.key }) {
                answers.append(AppleAnswer.Answer(bundleID: bundleID, finding: try await ask(client, bundleID)))
            }
            // If one app could not be asked, it is no answer that another knows nothing.
            answers += settings.apps.map(\.app.bundleID).filter { clients[$0] == nil }.sorted().map {
                AppleAnswer.Answer(
                    bundleID: $0,
                    finding: .notAsked("it has no key for the App Store Server API, see server_api_key_file"))
            }
            return .asked(answers)
        } catch is CancellationError {
            return .notAsked("It was interrupted.")
        } catch {
            return .notAsked("\(error)")
        }
    }

    /// An app's key answers a person, by whatever its receipts are verified.
    private static func clients(_ settings: JobSettings) throws(UnusableSetting) -> [BundleID: ServerAPIClient] {
        try AppleServices(settings.apple, apps: settings.apps).serverAPI
    }

    private func ask(
        _ client: ServerAPIClient, _ bundleID: BundleID
    ) async throws(CancellationError) -> AppleAnswer.Finding {
        switch self {
        case .invoice(let id): Self.finding(try await client.orderProofs(id), bundleID)
        case .transaction(let id):
            switch try await client.transactionProof(id) {
            case .found(let proof) where proof.transaction.transactionID != id:
                .failed("Apple answered with another transaction than was asked for")
            case let outcome: Self.finding(outcome.map { [$0] }, bundleID)
            }
        }
    }

    private static func finding(
        _ outcome: ServerAPIOutcome<[TransactionProof]>, _ bundleID: BundleID
    ) -> AppleAnswer.Finding {
        switch outcome {
        case .found(let proofs): found(proofs, bundleID)
        case .notFound(let absence): .notFound("\(absence)")
        case .unverified(let payload): .failed("\(payload)")
        case .tryAgain(let why): .failed(why.text)
        case .needsConfiguration(let what): .failed(what)
        case .notTried: .failed("Apple is down")
        }
    }

    private static func found(_ proofs: [TransactionProof], _ bundleID: BundleID) -> AppleAnswer.Finding {
        do {
            return .found(
                try proofs.map { proof in
                    let transaction = try Transaction(proof.transaction)
                    let isProduction = proof.transaction.environment == Environment.production.rawValue
                    return ApplesTransaction(
                        key: TransactionKey(
                            id: transaction.id, bundleID: bundleID, environment: isProduction ? .production : .sandbox),
                        transaction: transaction, proof: proof.jws)
                })
        } catch {
            return .failed("\(error)")
        }
    }
}
