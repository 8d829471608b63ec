import Foundation
import TestSupport
import Testing

/// Which room may import which: what Package.swift gives it and docs/architecture.md says. The compiler alone would let a
/// room import what another one depends on.
@Suite struct RoomsTests {
    /// What each target depends on, as Package.swift has it.
    private static let dependencies: [String: Set<String>] = {
        let targets = text(of: "Package.swift").matches(
            of: /(?:room\(\s*|name: )"(\w+)"(?:,\s*(?:dependencies: )?\[([^\]]*)\])?/)
        let pairs = targets.map { target in
            (String(target.1), Set((target.2 ?? "").matches(of: /"(\w+)"/).map { String($0.1) }))
        }
        return Dictionary(pairs) { first, _ in first }
    }()
    private static let toolchain: Set<String> = ["Foundation", "Dispatch", "Glibc", "Synchronization"]
    /// C libraries; and a package of its own, which libFuzzer builds.
    private static let foreign: Set<String> = ["CLibraries", "Fuzz"]
    /// What architecture.md names below its table.
    private static let programs: Set<String> = ["AppStoreSimulatorCommand", "Benchmarks", "Chaos"]

    @Test(arguments: try rooms().sorted())
    func aRoomImportsOnlyWhatThePackageAllows(room: String) throws {
        let folder = PackageRoot.folder.appending(path: "Sources/\(room)")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let sources = (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        #expect(!sources.isEmpty)
        let allowed = Self.toolchain.union(try #require(Self.dependencies[room]))
        for source in sources {
            let foreign = try imports(of: source).subtracting(allowed)
            #expect(foreign.isEmpty, "\(room)/\(source.lastPathComponent) imports \(foreign.sorted())")
        }
    }

    @Test func theDesignSaysWhatARoomMayImport() throws {
        let rows = Self.text(of: "docs/architecture.md").matches(of: /(?m)^\| `Sources\/(\w+)` \|.*\| (.*) \|$/)
        let said = Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (String(row.1), Set(row.2.matches(of: /`(\w+)`/).map { String($0.1) }))
            })
        let rooms = try Self.rooms()
        #expect(Set(said.keys) == rooms.subtracting(Self.programs))
        for (room, mayImport) in said {
            #expect(mayImport == Self.dependencies[room]?.intersection(rooms), "\(room)")
        }
    }

    private static func rooms() throws -> Set<String> {
        let sources = PackageRoot.folder.appending(path: "Sources")
        let folders = try FileManager.default.contentsOfDirectory(atPath: sources.path(percentEncoded: false))
        return Set(folders).subtracting(foreign)
    }

    private static func text(of path: String) -> String {
        (try? String(contentsOf: PackageRoot.folder.appending(path: path), encoding: .utf8)) ?? ""
    }

    private func imports(of file: URL) throws -> Set<String> {
        let modules = try String(contentsOf: file, encoding: .utf8).matches(
            of:
                /(?m)^(?:@\w+ )*(?:(?:public|package|internal|private|fileprivate) )?import (?:(?:struct|class|enum|func|protocol|typealias|var|let) )?(\w+)/
        ).map { String($0.1) }
        return Set(modules)
    }
}
