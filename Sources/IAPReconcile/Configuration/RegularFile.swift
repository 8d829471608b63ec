import Foundation

/// A regular file that the configuration is, or names, opened for reading.
///
/// It is opened before it is looked at, so that the file looked at is the file read; and without waiting, for a pipe
/// would keep the job waiting.
struct RegularFile {
    /// Its permission bits.
    let permissions: mode_t
    private let handle: FileHandle

    /// Why a file can't be read, as the end of a sentence about it.
    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    init(_ path: String) throws(Problem) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.problem() }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Problem(description: "is no regular file")
        }
        permissions = status.st_mode & 0o777
    }

    /// What it holds.
    ///
    /// - Parameter longest: bytes, beyond which nothing is read.
    func read(upTo longest: Int? = nil) throws(Problem) -> Data {
        do {
            return try (longest.map(handle.read(upToCount:)) ?? handle.readToEnd()) ?? Data()
        } catch {
            throw Self.problem()
        }
    }

    private static func problem() -> Problem {
        Problem(description: "can't be read: \(String(cString: strerror(errno)))")
    }
}
