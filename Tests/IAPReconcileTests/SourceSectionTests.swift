import Job
import Foundation
import Reconciliation
import Testing

@testable import IAPReconcile

/// The sections that say what a company already has, and where.
@Suite struct SourceSectionTests {
    private func sources(_ text: String) throws -> [SourceSettings] {
        try Configuration.parse(text, file: "/etc/x.conf").settings.sources
    }

    @Test func aQueryAndAFolderAreUnderstood() throws {
        let sources = try sources(
            """
            [source delivered]
            conninfo = service=shop
            query = SELECT 1
            watermark = changed
            overlap = 2h
            statement_timeout = 90
            [source orders old]
            directory = /var/spool/orders
            [source products]
            conninfo = service=shop
            query = SELECT 2
            """)
        let query = SourceQuery(
            conninfo: "service=shop", text: "SELECT 1", watermark: "changed", overlap: .time(7200), statementTimeout: 90
        )
        #expect(
            sources == [
                SourceSettings(name: "delivered", kind: .delivered, origin: .query(query)),
                SourceSettings(name: "orders old", kind: .orders, origin: .folder("/var/spool/orders")),
                SourceSettings(
                    name: "products", kind: .products,
                    origin: .query(SourceQuery(conninfo: "service=shop", text: "SELECT 2"))),
            ])
    }

    @Test func aQueryMayStandInAFileOfItsOwn() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "query-\(UUID().uuidString).sql")
        try Data("SELECT 3\n-- all\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let path = file.path(percentEncoded: false)
        let found = try sources("[source orders]\nconninfo = x\nquery_file = \(path)\noverlap = 500\nwatermark = id")
        let expected = SourceQuery(conninfo: "x", text: "SELECT 3\n-- all\n", watermark: "id", overlap: .numbers(500))
        #expect(found.map(\.origin) == [.query(expected)])
    }

    /// Nobody writes into it: whoever opened it to read would wait for ever.
    @Test func aPipeIsNoQuery() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "pipe-\(UUID().uuidString)")
            .path(percentEncoded: false)
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let error = try #require(throws: ConfigurationError.self) {
            _ = try sources("[source orders]\nconninfo = x\nquery_file = \(path)")
        }
        #expect(error.text.contains("is no regular file"))
    }

    @Test(
        arguments: [
            ("[source deliverd]\nquery = x", "delivered"), ("[source]\nquery = x", "such as [source delivered]"),
            ("[source orders]\nquery = x", "needs conninfo and query, or directory"),
            ("[source orders]\nconninfo = x\nquery = y\noverlap = 1h", "“overlap” needs a watermark"),
            ("[source orders]\ndirectory = /x\nquery = y", "don't go together"),
            ("[source orders]\ndirectory = x", "begins with /"),
            ("[source orders]\nquery = x\nquery_file = /etc/hostname", "already given"),
            ("[source orders]\nquery_file = /nowhere", "can't be read"),
            ("[source orders]\nwatermarks = x", "watermark"),
            ("[source orders]\nconninfo = x\n[source  orders]\nconninfo = x", "already given"),
        ])
    func whatIsWrongIsSaid(text: String, words: String) throws {
        let error = try #require(throws: ConfigurationError.self) { _ = try sources(text) }
        #expect("\(error)".contains(words), "\(error)")
    }

    @Test func aPasswordThatOthersMayReadIsRefused() throws {
        let text = "[source orders]\nconninfo = password=hunter2\nquery = SELECT 1"
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse(text, file: "x", isReadableByOthers: true)
        }
        #expect(!"\(error)".contains("hunter2"))
    }
}
