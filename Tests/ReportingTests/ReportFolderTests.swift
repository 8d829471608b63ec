import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Reporting

@Suite struct ReportFolderTests {
    /// Whoever may read the report directory may lock it, and a program that hangs may hold its turn for ever.
    @Test func aLockThatStaysHoldsUpNoReport() throws {
        try withFolder { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let lock = try #require(FolderLock(path))
            let folder = try ReportFolder(directory: path, patience: 0.1)
            try folder.file("summary.txt").finish()
            #expect(try folder.publish(as: "2026-09-21-run-42", standing: .latest) == "\(path)/2026-09-21-run-42")
            #expect(FileManager.default.fileExists(atPath: "\(path)/latest/summary.txt"))
            withExtendedLifetime(lock) {}
        }
    }

    @Test func aLockThatGoesIsWaitedFor() throws {
        try withFolder { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let holder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            #expect(flock(holder, LOCK_EX) == 0)
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) { close(holder) }
            #expect(FolderLock(path, patience: 600) != nil)
        }
    }
}
