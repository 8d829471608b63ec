import Reconciliation

extension Command {
    static func setup(_: [String], _ options: OptionValues) throws(UsageError) -> Command {
        if options.has("dry-run"), options.has("yes") { throw UsageError("--dry-run and --yes exclude each other") }
        var setup = SetupOptions()
        setup.database = try options.text("database")
        setup.login = try options.choice("login")
        setup.user = try options.text("run-as") ?? setup.user
        setup.app = try app(options)
        setup.isEnablingTimer = options.has("enable-timer")
        setup.isAgreed = options.has("yes")
        setup.isDryRun = options.has("dry-run")
        if setup.isAgreed, setup.database == nil {
            throw UsageError("--yes asks nothing: --database NAME is missing")
        }
        return .setup(setup)
    }

    private static func app(_ options: OptionValues) throws(UsageError) -> SetupApp? {
        guard let name = try options.text("app") else {
            let ofAnApp = ["secret-file", "key-file", "key-id", "issuer-id", "from"]
            if let stray = ofAnApp.first(where: options.has) { throw UsageError("--\(stray) needs --app BUNDLE") }
            return nil
        }
        guard let bundleID = BundleID(name) else { throw UsageError("“\(name)” is no bundle id") }
        var app = SetupApp(bundleID: bundleID)
        app.sharedSecretFile = try options.text("secret-file")
        app.key = try key(options)
        app.since = try options.moment("from")
        return app
    }

    private static func key(_ options: OptionValues) throws(UsageError) -> SetupApp.Key? {
        let given = (try options.text("key-file"), try options.text("key-id"), try options.text("issuer-id"))
        switch given {
        case (nil, nil, nil): return nil
        case (let file?, let keyID?, let issuerID?):
            return SetupApp.Key(file: file, keyID: keyID, issuerID: issuerID)
        default: throw UsageError("--key-file, --key-id and --issuer-id are needed together")
        }
    }
}
