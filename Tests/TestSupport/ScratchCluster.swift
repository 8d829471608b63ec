import Foundation

/// A private PostgreSQL cluster in a folder of its own, reached by a Unix socket in it. It is stopped and deleted when
/// the last owner lets go, and also when this process is killed.
public final class ScratchCluster: Sendable {
    /// Holds the data and the socket; short, since a socket's path may have no more than 107 bytes.
    public let directory: String
    public let port: Int
    private let programs: ServerPrograms
    private let watchdog: Watchdog

    /// The cluster that all tests of this process share.
    public static func shared() async throws -> ScratchCluster { try await sharedStart.value }

    private static let sharedStart = Task { try await ScratchCluster.dedicated() }

    /// A cluster for one test, which may stop and restart it.
    /// - Parameters:
    ///   - settings: lines of postgresql.conf, over those that make a scratch cluster fast and private
    ///   - hba: the lines of pg_hba.conf; by default everyone on the socket is trusted
    ///   - files: further files in the data folder, such as a certificate and its key
    public static func dedicated(
        settings: [String: String] = [:], port: Int = 5432, hba: String = "local all all trust",
        files: [String: String] = [:]
    ) async throws -> ScratchCluster {
        let cluster = try ScratchCluster(port: port)
        try await cluster.create(settings, hba, files)
        try await cluster.start()
        return cluster
    }

    private init(port: Int) throws {
        self.port = port
        programs = try ServerPrograms()
        directory = try Self.makeDirectory(owner: programs.user)
        let stop = programs.commandLine("pg_ctl", Self.stopArguments(directory, "immediate"))
        watchdog = try Watchdog(cluster: directory, stop: stop)
    }

    /// Where the server's user can reach it, too, whatever TMPDIR root may have.
    private static func makeDirectory(owner: String?) throws -> String {
        let parent = parentDirectory()
        var template = Array("\(parent)/iap-scratch-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ChildProcess.Failure(description: "\(parent) can't be written: errno \(errno)")
        }
        let directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        if let owner {
            try FileManager.default.setAttributes([.ownerAccountName: owner], ofItemAtPath: directory)
        }
        return directory
    }

    /// In memory, where there is plenty: each test makes and removes a database of some five hundred files, and on a disk the
    /// kernel looks for a free inode longer than the tests take.
    private static func parentDirectory() -> String {
        var memory = statvfs()
        let isThere = statvfs("/dev/shm", &memory) == 0
        return isThere && UInt(memory.f_bavail) * UInt(memory.f_frsize) >= 4 << 30 ? "/dev/shm" : "/tmp"
    }

    private static func stopArguments(_ directory: String, _ mode: String) -> [String] {
        ["stop", "-D", "\(directory)/data", "-m", mode, "-w", "-s"]
    }
}

extension ScratchCluster {
    /// For the superuser `postgres`.
    public func superuserConninfo(database: String = "postgres") -> String {
        conninfo(user: "postgres", database: database)
    }

    public func conninfo(user: String, database: String) -> String {
        // Tests beside each other may keep a server from answering for long.
        "host=\(directory) port=\(port) user=\(user) dbname=\(database) connect_timeout=120"
    }

    public func start() async throws {
        let log = ["-l", "\(directory)/log"]
        try await programs.run("pg_ctl", ["start", "-D", "\(directory)/data", "-w", "-s"] + log, in: directory)
    }

    /// Stops the server: in good order, or `immediate`, as a crash would.
    public func stop(immediate: Bool = false) async throws {
        try await programs.run("pg_ctl", Self.stopArguments(directory, immediate ? "immediate" : "fast"), in: directory)
    }

    public func restart() async throws {
        try await stop()
        try await start()
    }

    /// Runs one of PostgreSQL's programs, such as `psql` or `pg_dump`, as the server's user.
    public func run(_ program: String, _ arguments: [String], input: String? = nil) async throws -> ChildProcess.Ended {
        let line = programs.commandLine(program, arguments)
        return try await ChildProcess.run(line[0], Array(line.dropFirst()), directory: directory, input: input)
    }

    private func create(_ settings: [String: String], _ hba: String, _ files: [String: String]) async throws {
        let data = "\(directory)/data"
        let options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        try await programs.run("initdb", ["-D", data] + options, in: directory)
        try write(hba + "\n", to: "\(data)/pg_hba.conf")
        for (name, text) in files { try write(text, to: "\(data)/\(name)") }
        let lines = Self.settings(directory, port).merging(settings) { _, own in own }
        let configuration = lines.map { "\($0.key) = '\($0.value)'\n" }.sorted().joined()
        try write(configuration, to: "\(data)/postgresql.conf")
    }

    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
        var attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        if let user = programs.user { attributes[.ownerAccountName] = user }
        try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
    }

    private static func settings(_ directory: String, _ port: Int) -> [String: String] {
        [
            "listen_addresses": "", "unix_socket_directories": directory, "port": "\(port)",
            "fsync": "off", "full_page_writes": "off",
            "max_connections": "1000", "max_prepared_transactions": "10", "shared_buffers": "64MB",
            "max_wal_size": "4GB", "jit": "off",
            "lc_messages": "C", "timezone": "UTC", "log_timezone": "UTC", "log_min_messages": "warning",
        ]
    }
}
