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
}
