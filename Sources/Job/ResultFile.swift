import Files
import Foundation
import Glibc
public import Reconciliation

/// A file that says what became of the lines of another. It is none of those that are read.
package struct ResultFile {
    private let path: String
    private let handle: FileHandle

    /// Opens the file, and leaves what it holds until `empty`: whether it is one of those that are read is looked at in
    /// what was opened, whatever takes its name meanwhile.
    ///
    /// - Parameters:
    ///   - inputs: the files that are read; `-` is standard input.
    ///   - isForGroup: whether it lies in a folder of several people's: then it is theirs to read, whatever the umask,
    ///     and nothing that one of them laid in its place is written to, nor what a link there names.
    package init(_ path: String, besides inputs: [String], isForGroup: Bool = false) throws(UnwritableFile) {
        self.path = path
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (isForGroup ? O_EXCL : 0)
        let descriptor = open(path, flags, 0o640)
        guard descriptor >= 0 else { throw UnwritableFile(path, "\(SystemFailure())") }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        if isForGroup { fchmod(descriptor, 0o640) }
        // Opened so that a pipe which nobody reads is no endless wait; written so that a slow reader is waited for.
        _ = fcntl(descriptor, F_SETFL, 0)
        if let input = FileIdentity(descriptor: descriptor)?.first(of: inputs) {
            throw UnwritableFile(path, "it is what is read\(input == "-" ? " on standard input" : ""); name another")
        }
    }

    /// Begins the file anew. A pipe or a device holds nothing that could be cut off.
    package func empty() { ftruncate(handle.fileDescriptor, 0) }

    package func write(_ text: String) throws(UnwritableFile) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(handle.fileDescriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw UnwritableFile(path, "\(SystemFailure())") }
            bytes = bytes.dropFirst(max(0, count))
        }
    }
}

/// A file of results that can't be written.
public struct UnwritableFile: ForeseenError {
    public let description: String
    public let exitCode = ExitCode.noPermission

    init(_ file: String, _ why: String) {
        description = "\(file) can't be written: \(why)"
    }
}
