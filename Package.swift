// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .treatAllWarnings(as: .error),
]

/// A C library's module map and shim header; the only place that names its headers.
func cLibrary(_ name: String, pkgConfig: String? = nil, package: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/CLibraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// A room: a library target whose dependencies are the only rooms it may import.
func room(_ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tests(_ room: String, _ further: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: "\(room)Tests", dependencies: [.byName(name: room), "TestSupport"] + further, swiftSettings: strict)
}

let package = Package(
    name: "iap-reconcile",
    products: [
        .executable(name: "iap-reconcile", targets: ["IAPReconcile"]),
        .executable(name: "appstore-simulator", targets: ["AppStoreSimulatorCommand"]),
    ],
    targets: [
        cLibrary("CPostgreSQL", pkgConfig: "libpq", package: "libpq-dev"),
        cLibrary("CCurl", pkgConfig: "libcurl", package: "libcurl4-openssl-dev"),
        cLibrary("COpenSSL", pkgConfig: "libcrypto", package: "libssl-dev"),
        cLibrary("CINIH", pkgConfig: "inih", package: "libinih-dev"),
        // The C library's own getopt_long, which Swift's Glibc module leaves out.
        .systemLibrary(name: "CGetopt", path: "Sources/CLibraries/CGetopt"),
        .systemLibrary(name: "CMalloc", path: "Sources/CLibraries/CMalloc"),
        cLibrary("CXLSXWriter", pkgConfig: "xlsxwriter", package: "libxlsxwriter-dev"),
        cLibrary("CMicroHTTPD", pkgConfig: "libmicrohttpd", package: "libmicrohttpd-dev"),
        cLibrary("CCSV", package: "libcsv-dev"),
        cLibrary("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        cLibrary("CYajl", pkgConfig: "yajl", package: "libyajl-dev"),

        room("PostgreSQL", ["CPostgreSQL"]),
        room("HTTP", ["CCurl"]),
        // Days and moments without Foundation's calendar, which takes fifty times as long.
        room("CivilTime"),
        // Files as the system gives them.
        room("Files"),
        room("AppStore", ["HTTP", "CivilTime", "COpenSSL", "CYajl"]),
        room("Reconciliation", ["CivilTime"]),
        // The migrations and roles of sql/, compiled in, so that the program carries the schema that it needs.
        room(
            "Ledger", ["PostgreSQL", "Reconciliation"],
            resources: [.embedInCode("SQL"), .embedInCode("roles.sql")]),
        // What a company and Apple hand over in files, line by line.
        room("Importing", ["Ledger", "Reconciliation", "CivilTime", "Files", "CCSV", "CZlib"]),
        // What Apple and Apple's signatures say of a receipt, in the words of the rules.
        room("Verification", ["AppStore", "Reconciliation"]),
        // What every command shares: its settings, the present, the log, how it stops and how it tries again.
        room("Job", ["Ledger", "Verification", "Reconciliation", "Files"]),
        // What comes in beside receipts: sources, sales reports, and what the support desk decided in spreadsheets.
        room("Intake", ["Job", "Ledger", "Verification", "Importing", "Reconciliation", "Files"]),
        room("NightlyRun", ["Job", "Intake", "Ledger", "Verification", "Reconciliation"]),
        // Every command but the run itself.
        room(
            "Commands", ["Job", "Intake", "Ledger", "Verification", "Importing", "AppStore", "Reconciliation", "Files"]),
        // The page's style and script, compiled in: a report needs no file but itself.
        room("Reporting", ["Reconciliation", "Files", "CXLSXWriter"], resources: [.embedInCode("Assets")]),
        room("Notifications", ["HTTP", "Reporting", "Reconciliation", "Files", "COpenSSL"]),
        // Test keys and certificates, compiled in; scripts/simulator-keys makes them.
        room(
            "AppStoreSimulator", ["CivilTime", "CMicroHTTPD", "COpenSSL", "CZlib"], resources: [.embedInCode("Keys")]),
        // Customers who buy there, the apps' servers that they meet, and what the job should find of it.
        room("SimulatedWorld", ["AppStoreSimulator", "PostgreSQL"]),
        .executableTarget(
            name: "IAPReconcile",
            dependencies: [
                "Commands", "NightlyRun", "Intake", "Job", "Importing", "Verification", "Reporting", "Notifications",
                "Reconciliation", "Files", "CINIH", "CGetopt", "CMalloc",
            ],
            // From which setup makes a configuration.
            resources: [.embedInCode("Setup/iap-reconcile.conf.example")], swiftSettings: strict),
        .executableTarget(
            name: "AppStoreSimulatorCommand", dependencies: ["AppStoreSimulator", "SimulatedWorld", "Files"],
            swiftSettings: strict),

        // Plain C, as the limit that the benchmarks compare with.
        .target(
            name: "CBaselines", dependencies: ["COpenSSL", "CPostgreSQL"], path: "Sources/Benchmarks/Baselines"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "Commands", "Ledger", "AppStore", "Reporting", "Reconciliation", "PostgreSQL", "AppStoreSimulator",
                "SimulatedWorld", "CBaselines",
            ],
            exclude: ["Baselines"], swiftSettings: strict),

        // The program under fire; it stands on the clusters and processes that the tests have.
        .executableTarget(
            name: "Chaos",
            dependencies: ["TestSupport", "AppStoreSimulator", "SimulatedWorld", "Ledger", "PostgreSQL", "Files"],
            swiftSettings: strict),

        .target(
            name: "TestSupport", dependencies: ["PostgreSQL", "Ledger"], path: "Tests/TestSupport",
            swiftSettings: strict),
        tests("PostgreSQL"),
        tests("HTTP"),
        tests("AppStore", ["HTTP"]),
        tests("Reconciliation"),
        tests("Ledger", ["PostgreSQL", "Reconciliation"]),
        tests(
            "NightlyRun",
            [
                "Commands", "Job", "Intake", "Importing", "Verification", "Ledger", "AppStore", "AppStoreSimulator",
                "SimulatedWorld", "PostgreSQL", "Reconciliation",
            ]),
        tests("Reporting", ["Reconciliation"]),
        tests("Notifications", ["Reconciliation"]),
        tests("AppStoreSimulator", ["SimulatedWorld", "AppStore", "HTTP", "PostgreSQL"]),
        tests(
            "IAPReconcile",
            [
                "Commands", "NightlyRun", "Job", "Verification", "Reporting", "Notifications", "Reconciliation",
                "AppStoreSimulator", "SimulatedWorld", "PostgreSQL",
            ]),
    ]
)

// Set by scripts/fuzz, which builds the decoders with coverage and sanitizer into a folder of their own. The configuration
// then comes as a library, since no program can be linked into another.
if Context.environment["IAP_FUZZING"] != nil {
    package.products = []
    package.targets.removeAll { $0.isTest || $0.name == "IAPReconcile" }
    package.targets += [
        .target(
            name: "IAPReconcile",
            dependencies: [
                "Job", "Importing", "Verification", "Reporting", "Notifications", "Reconciliation", "Files", "CINIH",
            ],
            sources: ["Configuration", "Moment.swift", "NearestName.swift"], swiftSettings: strict),
        .systemLibrary(name: "CLibFuzzer", path: "Sources/CLibraries/CLibFuzzer"),
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "IAPReconcile", "Importing", "AppStore", "Reconciliation", "AppStoreSimulator", "CLibFuzzer",
            ],
            exclude: ["Dictionaries"], swiftSettings: strict,
            // gold fails over the sections in which coverage is counted.
            linkerSettings: [.unsafeFlags(["-use-ld=lld"])]),
    ]
}
