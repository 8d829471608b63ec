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
            options.database = ask(
                "PostgreSQL's database: its name, or how its owner reaches it, such as "
                    + "host=db.example.com dbname=shop user=postgres", otherwise: "iap")
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
        return ["y", "yes"].contains(ask("\(question) y or n", otherwise: "n").lowercased())
    }

    private func app() throws -> SetupApp {
        let name = ask("The app's bundle id", otherwise: "")
        guard let bundleID = BundleID(name) else { throw UsageError("“\(name)” is no bundle id") }
        var app = SetupApp(bundleID: bundleID)
        let key = ask("Its key for the App Store Server API, the file AuthKey_….p8, if there is one", otherwise: "")
        if !key.isEmpty {
            app.key = SetupApp.Key(
                file: key, keyID: ask("The key's id", otherwise: ""), issuerID: ask("The issuer's id", otherwise: ""))
        }
        let secret = ask("The file that holds its shared secret, if there is one", otherwise: "")
        if !secret.isEmpty { app.sharedSecretFile = secret }
        // Without an answer none is set: by a moment at which the server did not claim yet, all that it sold would be
        // called lost, and be given a second time.
        let since = ask(
            "From when on does its server claim what it delivers (such as 2026-11-21T03:00:00Z; empty if it does not yet)",
            otherwise: "")
        if !since.isEmpty {
            guard let moment = Moment.parse(since) else {
                throw UsageError("“\(since)” is no moment such as 2026-11-21T03:00:00Z")
            }
            app.since = moment
        }
        return app
    }

    private func ask(_ question: String, otherwise answer: String) -> String {
        StandardOutput.write(answer.isEmpty ? "\(question): " : "\(question) [\(answer)]: ")
        let line = (readLine() ?? "").trimmingCharacters(in: .whitespaces)
        return line.isEmpty ? answer : line
    }
}
