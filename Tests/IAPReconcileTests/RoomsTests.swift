import Foundation
import TestSupport
import Testing

/// Which room may import which, as the design says; C libraries stay in the room they were chosen for.
@Suite struct RoomsTests {
    private static let allowed: [String: Set<String>] = [
        "PostgreSQL": ["CPostgreSQL"],
        "HTTP": ["CCurl"],
        "CivilTime": [],
        "AppStore": ["HTTP", "CivilTime", "COpenSSL", "CYajl"],
        "Reconciliation": ["CivilTime"],
        "Ledger": ["PostgreSQL", "Reconciliation"],
        "Importing": ["Ledger", "Reconciliation", "CivilTime", "CCSV", "CZlib"],
        "Verification": ["AppStore", "Reconciliation"],
        "Job": ["Ledger", "Verification", "Reconciliation"],
        "Intake": ["Job", "Ledger", "Verification", "Importing", "Reconciliation"],
        "NightlyRun": ["Job", "Intake", "Ledger", "Verification", "Reconciliation"],
        "Commands": ["Job", "Intake", "Ledger", "Verification", "Importing", "AppStore", "Reconciliation"],
        "Reporting": ["Reconciliation", "CXLSXWriter"],
        "Notifications": ["Reporting", "Reconciliation", "HTTP", "COpenSSL"],
        "IAPReconcile": [
            "Commands", "NightlyRun", "Intake", "Job", "Importing", "Verification", "Reporting", "Notifications",
            "Reconciliation", "CINIH", "CGetopt", "CMalloc",
        ],
        "AppStoreSimulator": ["CivilTime", "COpenSSL", "CMicroHTTPD", "CZlib"],
        "SimulatedWorld": ["AppStoreSimulator", "PostgreSQL"],
        "AppStoreSimulatorCommand": ["AppStoreSimulator", "SimulatedWorld"],
    ]
    private static let toolchain: Set<String> = ["Foundation", "Dispatch", "Glibc", "Synchronization"]

    @Test(arguments: allowed.keys.sorted())
    func aRoomImportsOnlyWhatTheDesignAllows(room: String) throws {
        let folder = PackageRoot.folder.appending(path: "Sources/\(room)")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let sources = (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        #expect(!sources.isEmpty)
        let allowed = Self.toolchain.union(try #require(Self.allowed[room]))
        for source in sources {
            let foreign = try imports(of: source).subtracting(allowed)
            #expect(foreign.isEmpty, "\(room)/\(source.lastPathComponent) imports \(foreign.sorted())")
        }
    }

    @Test func everyRoomIsInTheDesign() throws {
        let sources = PackageRoot.folder.appending(path: "Sources")
        let rooms = try FileManager.default.contentsOfDirectory(atPath: sources.path(percentEncoded: false))
        #expect(
            Set(rooms).subtracting(["CLibraries", "Benchmarks", "Chaos", "Fuzz"]) == Set(Self.allowed.keys))
    }

    private func imports(of file: URL) throws -> Set<String> {
        let modules = try String(contentsOf: file, encoding: .utf8).matches(
            of:
                /(?m)^(?:@\w+ )*(?:(?:public|package|internal|private|fileprivate) )?import (?:(?:struct|class|enum|func|protocol|typealias|var|let) )?(\w+)/
        ).map { String($0.1) }
        return Set(modules)
    }
}
