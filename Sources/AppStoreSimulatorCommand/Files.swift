import AppStoreSimulator
import Files
import Foundation

/// Files that the commands write and read.
enum Files {
    /// What a file holds, as `decode` reads it.
    static func decode<Value>(_ path: String, _ decode: (Data) throws -> Value) throws(SimulatorError) -> Value {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw .file(path: path, problem: "it can't be read")
        }
        do {
            return try decode(data)
        } catch {
            throw .file(path: path, problem: "it isn't what it should be: \(error)")
        }
    }

    /// Writes a file in one step: whoever waits for it never reads half of it. `mode` is set before anything is
    /// written.
    static func write(_ text: String, to path: String, mode: mode_t = 0o644) throws(SimulatorError) {
        try write(Array(text.utf8), to: path, mode: mode)
    }

    static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o644) throws(SimulatorError) {
        let temporary = "\(path).\(getpid())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode)
        guard descriptor >= 0 else { throw .file(path: path, problem: "\(SystemFailure())") }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(bytes))
        } catch {
            throw .file(path: path, problem: "\(error)")
        }
        guard rename(temporary, path) == 0 else { throw .file(path: path, problem: "\(SystemFailure())") }
    }
}
