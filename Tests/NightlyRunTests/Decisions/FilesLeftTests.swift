import Foundation
import TestSupport
import Testing

@testable import Commands

@Suite struct FilesLeftTests {
    /// Whoever decided there waits for it, and reads no log of the night.
    @Test func whatNoNightTookForDaysIsTold() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.path(percentEncoded: false)
            for name in ["lost.xlsx", "a note.txt", ".~lock.lost.xlsx#", "~$lost.xlsx"] {
                try Data().write(to: folder.appending(path: name))
            }
            try FileManager.default.createSymbolicLink(
                at: folder.appending(path: "link.csv"), withDestinationURL: folder.appending(path: "nothing"))
            try FileManager.default.createDirectory(
                at: folder.appending(path: "done"), withIntermediateDirectories: true)
            #expect(Doctor.filesLeft(in: path, at: Date() + 2 * 86_400 - 3600) == [])
            #expect(
                Doctor.filesLeft(in: path, at: Date() + 2 * 86_400 + 3600) == ["a note.txt", "link.csv", "lost.xlsx"])
            #expect(Doctor.filesLeft(in: "\(path)/nowhere", at: Date() + 3 * 86_400) == [])
        }
    }
}
