import Commands
import Foundation
import Reconciliation
import Reporting

/// The questions that the setup asks at the terminal for what the command line left out.
struct SetupDialog {
    let isAgreed: Bool
    private let isTerminal = isatty(STDIN_FILENO) == 1

    /// Asks for what is missing.
    ///
    /// - Parameter hasApp: whether the configuration names an app already; called only if the options name none.
    /// - Throws: `UsageError` if something is needed and nobody is there to be asked, or what `hasApp` throws.
    func completed(_ options: SetupOptions, hasApp: () throws -> Bool) throws -> SetupOptions {
        var options = options
        if options.database == nil {
            guard isTerminal else { throw UsageError("--database NAME is missing, and nobody can be asked") }
            options.database = try ask(
                "PostgreSQL's database: its name, or how its owner reaches it, such as "
                    + "host=db.example.com dbname=shop user=postgres", otherwise: "iap"
            ) { answer in
                _ = try OwnerAccess(answer)
                return answer
            }
        }
        if options.app == nil, try !hasApp() {
            guard isTerminal, !isAgreed else {
                throw UsageError("--app BUNDLE is missing: the configuration names no app yet")
            }
            options.app = try app()
        }
        return options
    }

    /// Asks whether to go on.
    ///
    /// - Throws: `UsageError` if nobody is there to be asked.
    func agrees(to question: String) throws -> Bool {
        if isAgreed { return true }
        guard isTerminal else { throw UsageError("nobody is there to be asked: --yes agrees, --dry-run only shows") }
        return try ask("\(question) y or n", otherwise: "n") { ["y", "yes"].contains($0.lowercased()) }
    }

    private func app() throws -> SetupApp {
        let bundleID = try ask("The app's bundle id") { answer in
            guard let bundleID = BundleID(answer) else { throw UsageError("“\(answer)” is no bundle id") }
            return bundleID
        }
        var app = SetupApp(bundleID: bundleID)
        app.key = try key()
        app.sharedSecretFile = try ask("The file that holds its shared secret, if there is one", Self.secretFile)
        // Without an answer none is set: by a moment at which the server did not claim yet, all that it sold would be
        // called lost, and be given a second time.
        app.since = try ask(
            "From when on does its server claim what it delivers (such as 2026-11-21T03:00:00Z; empty if it does not yet)"
        ) { answer -> Date? in
            if answer.isEmpty { return nil }
            guard let moment = Moment.parse(answer) else {
                throw UsageError("“\(answer)” is no moment such as 2026-11-21T03:00:00Z")
            }
            return moment
        }
        return app
    }

    private func key() throws -> SetupApp.Key? {
        let question = "Its key for the App Store Server API, the file AuthKey_….p8, if there is one"
        guard let file = try ask(question, Self.secretFile) else { return nil }
        return SetupApp.Key(
            file: file, keyID: try ask("The key's id") { try Self.needed($0, "the key's id") },
            issuerID: try ask("The issuer's id") { try Self.needed($0, "the issuer's id") })
    }

    /// A file that can be copied as a secret; `nil` without an answer.
    private static func secretFile(_ answer: String) throws -> String? {
        if answer.isEmpty { return nil }
        try SecretStep.check(answer)
        return answer
    }

    private static func needed(_ answer: String, _ what: String) throws -> String {
        guard !answer.isEmpty else { throw UsageError("\(what) is needed beside the key") }
        return answer
    }

    /// Asks until there is an answer that can be read. Once nobody answers any more, what is wrong ends it.
    private func ask<Value>(
        _ question: String, otherwise usual: String = "", _ read: (String) throws -> Value
    ) throws -> Value {
        while true {
            StandardOutput.write(usual.isEmpty ? "\(question): " : "\(question) [\(usual)]: ")
            guard let line = readLine() else { return try read(usual) }
            let answer = line.trimmingCharacters(in: .whitespaces)
            do {
                return try read(answer.isEmpty ? usual : answer)
            } catch {
                StandardOutput.write(Printable.lines("\(error)") + "\n")
            }
        }
    }
}
