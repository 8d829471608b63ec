import Foundation

/// A folder as the system lists it.
public enum Folder {
    /// The names in a folder, in no order. What is not UTF-8 in one is replaced by U+FFFD.
    public static func names(in path: String) throws(SystemFailure) -> [String] {
        guard let folder = opendir(path) else { throw SystemFailure() }
        defer { closedir(folder) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(folder) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw SystemFailure() }
        return names
    }

    /// The names that people gave: neither hidden, nor by which Excel says that it has a file open.
    public static func shownNames(in path: String) throws(SystemFailure) -> [String] {
        try names(in: path).filter { !$0.hasPrefix(".") && !$0.hasPrefix("~$") }.sorted()
    }

    /// Whether it is a folder, or a link to one, in which this user may make files and move them away.
    public static func mayWrite(to path: String) -> Bool { access("\(path)/.", W_OK | X_OK) == 0 }

    /// Whether what others lay into a folder is only theirs, or its owner's, to move away: its sticky bit is set, and
    /// this user is neither its owner nor the superuser.
    public static func keepsOthersFiles(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_ISVTX != 0 && ![0, status.st_uid].contains(geteuid())
    }

    /// Whether this user may put another file under a name in a folder that it may write to.
    public static func mayReplace(_ name: String, in path: String) -> Bool {
        var status = stat()
        return !keepsOthersFiles(path) || lstat("\(path)/\(name)", &status) != 0 || status.st_uid == geteuid()
    }
}
