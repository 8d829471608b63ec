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
            #expect(folder.turn() == nil)
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

    /// A report that is written again takes away its own files alone.
    @Test func whatPeopleLaidBesideAReportStays() throws {
        try withFolder { path in
            let name = "2026-09-21-run-42"
            let first = try ReportFolder(directory: path)
            for file in ["summary.txt", "page-2.html"] { try first.file(file).finish() }
            let place = try first.publish(as: name, standing: .latest)
            for file in ["notes.txt", "lost-orders.csv.result.csv"] {
                try "sue".write(toFile: "\(place)/\(file)", atomically: true, encoding: .utf8)
            }
            let second = try ReportFolder(directory: path)
            try second.file("summary.txt").finish()
            #expect(try second.publish(as: name, standing: .latest) == place)
            let left = try FileManager.default.contentsOfDirectory(atPath: place).sorted()
            #expect(left == ["lost-orders.csv.result.csv", "notes.txt", "summary.txt"])
            #expect(try String(contentsOfFile: "\(place)/notes.txt", encoding: .utf8) == "sue")
            #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == [name, "latest"])
        }
    }

    /// For instance to a disk that is not mounted. The system's “File exists” would help nobody.
    @Test(arguments: ["", "/", "/reports"])
    func aLinkToNowhereIsNamed(below: String) throws {
        try withFolder { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let link = "\(path)/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nonexistent/disk")
            let refusal = ReportError.notWritable(
                path: link + below, reason: "\(link) is a link to /nonexistent/disk, which is not there")
            let thrown = #expect(throws: ReportError.self) { _ = try ReportFolder(directory: link + below) }
            #expect(thrown?.description == refusal.description)
        }
    }
}
