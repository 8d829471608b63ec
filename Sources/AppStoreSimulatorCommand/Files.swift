import AppStoreSimulator
import Foundation

/// Files that the commands write and read.
enum Files {
    static func read(_ path: String) throws(SimulatorError) -> Data {
        do {
            return try Data(contentsOf: URL(filePath: path))
        } catch {
            throw .file(path: path, problem: "it can't be read")
        }
    }

    /// Writes a file in one step: whoever waits for it never reads half of it. `mode` is set before anything is
    /// written.
    static func write(_ text: String, to path: String, mode: mode_t = 0o644) throws(SimulatorError) {
        let temporary = "\(path).\(getpid())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode)
        guard descriptor >= 0 else { throw .file(path: path, problem: String(cString: strerror(errno))) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(text.utf8))
        } catch {
            throw .file(path: path, problem: "\(error)")
        }
        guard rename(temporary, path) == 0 else { throw .file(path: path, problem: String(cString: strerror(errno))) }
    }
}
