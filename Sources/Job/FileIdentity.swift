import Foundation

/// What identifies a regular file under all its names, so that no file is written over that is also read.
package struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    /// - Parameter path: `-` is standard input. Gives `nil` for what is not there, or is a pipe or a device, which
    ///   holds nothing that could be written over.
    package init?(path: String) {
        var status = stat()
        guard (path == "-" ? fstat(STDIN_FILENO, &status) : stat(path, &status)) == 0 else { return nil }
        self.init(status)
    }

    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }

    /// The first of these files that is this one.
    package func first(of paths: [String]) -> String? {
        paths.first { FileIdentity(path: $0) == self }
    }
}
