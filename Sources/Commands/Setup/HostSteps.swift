import Foundation
import Reconciliation

/// The user of the system that the job runs as.
public struct AccountStep: SetupStep {
    public let name = "user"
    private let user: String

    public init(_ user: String) {
        self.user = user
    }

    /// The command that makes it.
    public func missing() throws -> [String] {
        SystemUser(named: user) == nil ? [command.joined(separator: " ")] : []
    }

    /// Runs that command.
    ///
    /// - Throws: `SetupError` to everybody but root.
    public func perform() throws {
        guard SystemUser.isRoot else { throw SetupError("Only root can make the user \(user). Run setup as root.") }
        try Program.run(command)
    }

    private var command: [String] {
        [
            "useradd", "--system", "--user-group", "--home-dir", "/var/lib/iap-reconcile", "--no-create-home",
            "--shell",
            "/usr/sbin/nologin", user,
        ]
    }
}

/// Folders that belong to the job, and that nobody else may look into.
public struct FoldersStep: SetupStep {
    public let name: String
    private let paths: [String]
    private let owner: String
    private let group: String

    /// - Parameter group: the user whose group may look into them; by default the owner.
    public init(_ name: String, _ paths: [String], of owner: String, group: String? = nil) {
        self.name = name
        self.paths = paths
        self.owner = owner
        self.group = group ?? owner
    }

    /// Those that are not there, and the folders above them that are not.
    public func missing() throws -> [String] {
        absent.map { "\($0), of \(owner):\(group), mode 750" }
    }

    /// Makes these folders.
    ///
    /// - Throws: `SetupError` if one can't be made.
    public func perform() throws {
        for path in absent {
            // Whatever the umask.
            guard mkdir(path, 0o750) == 0, chmod(path, 0o750) == 0 else {
                let refusal = PlacedFile.refusal(of: path)
                guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
                    throw refusal
                }
                throw SetupError(
                    "\(path) is a link to \(target), which is not there. Make that folder, or remove the link.")
            }
            guard SystemUser.isRoot, let owner = SystemUser(named: owner), let group = SystemUser(named: group) else {
                continue
            }
            guard chown(path, owner.number, group.group) == 0 else { throw PlacedFile.refusal(of: path) }
        }
    }

    /// The missing folders, and before each the missing ones in which it lies.
    private var absent: [String] {
        var absent: [String] = []
        for path in paths {
            var missing: [String] = []
            var folder = (path as NSString).standardizingPath
            while folder != "/", !folder.isEmpty, !FileManager.default.fileExists(atPath: folder) {
                missing.append(folder)
                folder = (folder as NSString).deletingLastPathComponent
            }
            absent += missing.reversed().filter { !absent.contains($0) }
        }
        return absent
    }
}

/// A secret, such as a key of Apple's, copied to where the job reads it.
public struct SecretStep: SetupStep {
    public let name: String
    private let source: String
    private let place: String
    private let user: String

    public init(_ name: String, from source: String, to place: String, of user: String) {
        self.name = name
        self.source = source
        self.place = place
        self.user = user
    }

    /// Whether there is something to copy: a wrong path shall not come out only once the database has been changed.
    ///
    /// - Throws: `SetupError` if the given file is not there, can't be read, or is empty.
    public func check() throws { try Self.check(source) }

    /// Whether this file can be given as a secret.
    ///
    /// - Throws: `SetupError` if it is not there, can't be read, or is empty.
    public static func check(_ source: String) throws { _ = try contents(of: source) }

    /// The file, unless it holds this secret, and nobody else may read it.
    public func missing() throws -> [String] {
        let secret = try given
        let isInPlace = try file.isInPlace(with: secret)
        return isInPlace ? [] : ["\(place), of \(user), mode 600, from \(source)"]
    }

    /// Writes the secret there.
    public func perform() throws {
        try file.write(try given)
    }

    private var given: Data {
        get throws { try Self.contents(of: source) }
    }

    private static func contents(of source: String) throws -> Data {
        guard let secret = try PlacedFile(existing: source, otherwise: .dataError).contents, !secret.isEmpty else {
            throw SetupError("\(source) is empty.", exitCode: .dataError)
        }
        return secret
    }

    private var file: PlacedFile { PlacedFile(place, mode: 0o600, owner: SystemUser(named: user)) }
}

/// systemd's timer, which starts the job each night.
public struct TimerStep: SetupStep {
    public let name = "timer"
    private static let unit = "iap-reconcile.timer"

    public init() {}

    /// Whether systemd runs here and knows the timer.
    public static var canBeEnabled: Bool {
        FileManager.default.fileExists(atPath: "/run/systemd/system")
            && (try? Program.run(["systemctl", "cat", unit], isQuiet: true)) != nil
    }

    /// The command that enables it.
    public func missing() throws -> [String] {
        (try? Program.run(["systemctl", "is-enabled", "--quiet", Self.unit], isQuiet: true)) == nil
            ? ["systemctl enable --now \(Self.unit)"] : []
    }

    /// Enables it, and starts it at once: a night does not wait until the machine starts anew.
    public func perform() throws {
        try Program.run(["systemctl", "enable", "--now", Self.unit])
    }
}
