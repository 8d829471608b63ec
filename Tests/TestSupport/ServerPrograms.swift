import Foundation

/// PostgreSQL's own programs, run as a user that PostgreSQL accepts: it refuses root.
struct ServerPrograms: Sendable {
    /// Where `initdb`, `pg_ctl` and the others are.
    let folder: String
    /// The user to run them as; `nil` where that is ourselves.
    let user: String?

    init() throws {
        folder = try Self.findFolder()
        user = geteuid() == 0 ? "postgres" : nil
    }

    /// As `scripts/postgresql-bin` does.
    private static func findFolder() throws -> String {
        let debian = "/usr/lib/postgresql"
        if let wanted = ProcessInfo.processInfo.environment["IAP_POSTGRESQL"], !wanted.isEmpty {
            let folder = wanted.allSatisfy(\.isNumber) ? "\(debian)/\(wanted)/bin" : wanted
            guard FileManager.default.isExecutableFile(atPath: "\(folder)/initdb") else {
                throw ChildProcess.Failure(description: "PostgreSQL \(wanted) is not installed")
            }
            return folder
        }
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let newestFirst = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(debian)/\($0)/bin" }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let candidates = newestFirst + path.split(separator: ":").map(String.init)
        guard let folder = candidates.first(where: { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") })
        else {
            throw ChildProcess.Failure(description: "PostgreSQL's server programs are missing: apt install postgresql")
        }
        return folder
    }

    /// The command line that runs one of them.
    func commandLine(_ program: String, _ arguments: [String]) -> [String] {
        let own = ["\(folder)/\(program)"] + arguments
        return user.map { ["/usr/sbin/runuser", "-u", $0, "--"] + own } ?? own
    }

    func run(_ program: String, _ arguments: [String], in directory: String) async throws {
        let line = commandLine(program, arguments)
        try await ChildProcess.runSuccessfully(line[0], Array(line.dropFirst()), directory: directory)
    }
}
