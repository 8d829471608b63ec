import Files
import Foundation

/// A regular file, opened for reading: the configuration, or one that it names.
///
/// It is opened before it is examined, so that the file examined is the file read, and without blocking, for a pipe
/// would keep the job waiting.
struct RegularFile {
    /// Its permission bits.
    let permissions: mode_t
    private let handle: FileHandle

    /// Why a file can't be read, a phrase to end a sentence about it.
    struct Problem: Error, CustomStringConvertible {
        let description: String
        /// Whether there is no such file.
        var isOfNoFile = false
    }

    init(_ path: String) throws(Problem) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Problem(SystemFailure()) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Problem(description: "is no regular file")
        }
        permissions = status.st_mode & 0o777
    }

    /// Returns its content.
    ///
    /// - Parameter longest: the most bytes that are read.
    func read(upTo longest: Int = .max) throws(Problem) -> Data {
        do {
            return try handle.contents(upTo: longest)
        } catch {
            throw Problem(error)
        }
    }
}

extension RegularFile.Problem {
    fileprivate init(_ failure: SystemFailure) {
        self.init(description: "can't be read: \(failure)", isOfNoFile: failure.number == ENOENT)
    }
}
