import AppStoreSimulator
import Foundation
import SimulatedWorld

/// `appstore-simulator serve`
enum Serve {
    static let help = """
        Usage: appstore-simulator serve [options]
        Answers as Apple's verifyReceipt and App Store Server API do, on 127.0.0.1, until SIGTERM or SIGINT. The first
        line on standard output is the URL; under it are /production/verifyReceipt, /sandbox/verifyReceipt,
        /production/inApps/… and /sandbox/inApps/….

          --port N               port for HTTP; 0, the default, takes a free one
          --port-file FILE       write the port there
          --tls                  answer over HTTPS as well, with a certificate that is made for tests;
                                 its URL is the second line on standard output
          --tls-port N           port for HTTPS; 0, the default, takes a free one
          --ca-out FILE          write the certificate authority there, in PEM
          --root-out FILE        write the root certificates of what it signs there, in PEM
          --key-out FILE         write the key of the App Store Server API there (.p8, mode 0600); its key id is
                                 \(APIKey.keyID), its issuer id \(APIKey.issuerID)
          --secrets-dir DIR      write the apps' shared secrets there, a file (mode 0600) named after each bundle id
          --clock MOMENT         Apple's present: later than --now for later nights (default: --now if given, else
                                 the present)
          --clock-file FILE      read Apple's present from there for each request, so that it can be moved

        The world whose receipts it answers for, told as `world` was told it:
        \(WorldOptions.help)

        Faults, as shares of 0 to 1:
          --faults LIST          such as timeout=0.05,429=0.1; of timeout, http500, 429, 21005, 21009, 21002, truncated,
                                 html, cut; of the App Store Server API forged, foreign, 4000017 (expired page token)
          --faults-sticky SHARE  receipts that meet a fault at every attempt
          --timeout-seconds S    how long a timeout holds its answer back (default 60)
          --latency-ms MS        median of the time that answers take
          --latency-p99-ms MS    its 99th percentile (default: four times the median)
          --rate-limits LIST     of the App Store Server API, a second and app: such as history=50,lookup=10, of
                                 transaction, history, subscriptions, lookup, refunds, notifications; or apple for
                                 those that Apple publishes (default: none)
          --outage-after N       answer everything after the first N requests with 503

        """

    private static let values: Set<String> = [
        "port", "port-file", "tls-port", "ca-out", "root-out", "key-out", "secrets-dir", "clock", "faults",
        "faults-sticky", "timeout-seconds", "latency-ms", "latency-p99-ms", "rate-limits", "outage-after",
        "clock-file",
    ]

    static func run(_ arguments: [String]) throws {
        let options = try Options(
            arguments,
            values: WorldOptions.names.union(values), switches: ["tls"])
        // Before any thread begins, so that all of them leave the signals to `StopSignals.wait`.
        StopSignals.block()
        let store = try store(options)
        if let folder = options.text("secrets-dir") {
            try writeSecrets(of: World.storeApps(seed: WorldOptions.seed(options)), to: folder)
        }
        if let file = options.text("root-out") { try Files.write(store.rootCertificatesPEM, to: file) }
        if let file = options.text("key-out") { try Files.write(store.apiKey.privateKeyPEM, to: file, mode: 0o600) }
        let addresses = try store.start(
            port: options.number("port", in: 0...UInt16.max) ?? 0,
            tlsPort: options.has("tls") ? options.number("tls-port", in: 0...UInt16.max) ?? 0 : nil)
        try announce(addresses, options)
        StopSignals.wait()
        store.stop()
        print(store.counts)
    }

    private static func store(_ options: Options) throws -> SimulatedAppStore {
        let seed = try WorldOptions.seed(options)
        return SimulatedAppStore(
            seed: seed, records: World(try WorldOptions.settings(options)).records, faults: try faults(options),
            latency: try latency(options), outageAfter: try options.number("outage-after", in: 0...Int.max),
            rateLimits: try options.text("rate-limits").map { try RateLimits(parsing: $0) } ?? .none,
            now: try clock(options))
    }

    /// Writes each app's shared secret into a file that only its owner can read.
    private static func writeSecrets(of apps: [SimulatedApp], to folder: String) throws {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: attributes)
        for app in apps {
            guard let secret = app.sharedSecret else { continue }
            try Files.write("\(secret)\n", to: "\(folder)/\(app.bundleID)", mode: 0o600)
        }
    }

    private static func clock(_ options: Options) throws -> @Sendable () -> Date {
        if let file = options.text("clock-file") {
            return {
                let text = try? String(contentsOfFile: file, encoding: .utf8)
                let moment = text.flatMap { try? Date($0.trimmingCharacters(in: .newlines), strategy: .iso8601) }
                return moment ?? Date()
            }
        }
        let moment = try options.moment("clock") ?? options.moment("now")
        return { moment ?? Date() }
    }

    private static func faults(_ options: Options) throws -> Faults {
        try Faults(
            parsing: options.text("faults") ?? "", stickyShare: options.decimal("faults-sticky") ?? 0,
            timeoutSeconds: options.decimal("timeout-seconds") ?? 60)
    }

    private static func latency(_ options: Options) throws -> Latency? {
        guard let median = try options.decimal("latency-ms") else { return nil }
        let percentile99 = try options.decimal("latency-p99-ms") ?? median * 4
        return try Latency(median: median / 1000, percentile99: percentile99 / 1000)
    }

    private static func announce(_ addresses: SimulatedAppStore.Addresses, _ options: Options) throws {
        if let file = options.text("ca-out") {
            guard let authority = addresses.authorityPEM else { throw UsageError("--ca-out needs --tls") }
            try Files.write(authority, to: file)
        }
        if let file = options.text("port-file") { try Files.write("\(addresses.port)\n", to: file) }
        print(([addresses.base] + [addresses.tlsBase].compactMap(\.self)).joined(separator: "\n"))
        fflush(nil)
    }
}

/// The signals that end the server, waited for on the main thread.
enum StopSignals {
    private static var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        return set
    }

    static func block() {
        var set = set
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    static func wait() {
        var set = set
        var signal: Int32 = 0
        sigwait(&set, &signal)
    }
}
