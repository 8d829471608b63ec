import Files
public import Foundation
import Job
import Reconciliation

/// A file as it should lie: whose it is, who may read it, and what it holds.
public struct PlacedFile: Sendable {
    public let path: String
    let mode: mode_t
    let owner: uid_t
    let group: gid_t
    /// The name of a group that is still to be made.
    private let newGroup: String?

    /// - Parameters:
    ///   - owner: `nil` if it shall belong to whoever writes it.
    ///   - user: the user whose group may read it; it may be one that is still to be made.
    public init(_ path: String, mode: mode_t, owner: SystemUser?, groupOf user: String? = nil) {
        let group = user.flatMap { SystemUser(named: $0) }
        self.path = path
        self.mode = mode
        self.owner = owner?.number ?? geteuid()
        self.group = (group ?? owner)?.group ?? getegid()
        newGroup = group == nil ? user : nil
    }

    /// The file as it lies there already.
    ///
    /// - Throws: `SetupError` with this code if it is not there or is no file.
    init(existing path: String, otherwise code: ExitCode = .noPermission) throws {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SetupError("\(path) is no file on this machine.", exitCode: code)
        }
        self.path = path
        newGroup = nil
        (mode, owner, group) = (status.st_mode & 0o7777, status.st_uid, status.st_gid)
    }

    /// Whose it is to be and who may read it, in words.
    public var rights: String {
        func name(_ text: UnsafePointer<CChar>?, _ number: UInt32) -> String {
            text.map { String(cString: $0) } ?? "\(number)"
        }
        let members = newGroup ?? name(getgrgid(group)?.pointee.gr_name, group)
        return "of \(name(getpwuid(owner)?.pointee.pw_name, owner)):\(members), mode \(String(mode, radix: 8))"
    }

    /// What it holds; `nil` if it is not there.
    public var contents: Data? {
        get throws {
            var status = stat()
            guard stat(path, &status) == 0 else {
                guard lstat(path, &status) != 0 else {
                    throw SetupError("\(path) is a link that leads to no file.", exitCode: .configuration)
                }
                return nil
            }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw SetupError("\(path) is no regular file.", exitCode: .configuration)
            }
            // Foundation would say it in words of a desktop, and by a number.
            guard access(path, R_OK) == 0 else {
                throw SetupError("\(path) can't be read: \(SystemFailure()).")
            }
            do {
                return try Data(contentsOf: URL(filePath: path))
            } catch {
                throw SetupError("\(path) can't be read: \(error.localizedDescription.sentence)")
            }
        }
    }

    /// Whether it lies there with this content, for those who shall read it.
    public func isInPlace(with contents: Data) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        let isOwned = !SystemUser.isRoot || (status.st_uid == owner && status.st_gid == group)
        return try status.st_mode & 0o7777 == mode && isOwned && self.contents == contents
    }

    /// Takes the place of what lies there, in one step; behind a link, of what that leads to.
    public func write(_ contents: Data) throws {
        let place = try placeBehindLinks()
        do {
            let folder = URL(filePath: place).deletingLastPathComponent().path(percentEncoded: false)
            let file = try TemporaryFile("\(folder)/.iap-reconcile-")
            do {
                try file.handle.write(contentsOf: contents)
                try file.handle.synchronize()
                if SystemUser.isRoot, fchown(file.handle.fileDescriptor, owner, group) != 0 { throw SystemFailure() }
                try file.replace(place, mode: mode)
            } catch {
                file.remove()
                throw error
            }
        } catch let failure as SystemFailure {
            throw Self.refusal(of: place, failure)
        }
    }

    /// A link is followed only if whoever made it may write what it leads to anyway: root must not write wherever
    /// somebody else points.
    private func placeBehindLinks() throws(SetupError) -> String {
        var (link, target) = (stat(), stat())
        guard lstat(path, &link) == 0, link.st_mode & S_IFMT == S_IFLNK else { return path }
        guard stat(path, &target) == 0, let place = realpath(path, nil) else { throw Self.refusal(of: path) }
        defer { free(place) }
        guard [0, geteuid(), target.st_uid].contains(link.st_uid) else {
            throw SetupError("\(path) is a link of another user's. Put a file there, or a link of root's.")
        }
        return String(cString: place)
    }

    static func refusal(of path: String, _ why: SystemFailure = SystemFailure()) -> SetupError {
        SetupError("\(path) can't be written: \(why)." + (SystemUser.isRoot ? "" : " Run setup as root."))
    }
}
