import Foundation
import PostgreSQL
import TestSupport
import Testing

/// Every type both ways, in the form that the server itself confirms.
@Suite struct ValueTests {
    typealias Value = ParameterValue & ColumnValue & Equatable

    /// Sends each value and its NULL, and wants the same back.
    private func expectRoundTrip<T: Value>(_ values: [T]) async throws {
        try await withConnection { connection in
            for value in values {
                let rows = try await connection.query("SELECT \(value) AS value, \(nil as T?) AS none")
                #expect(try rows[0]("value", as: T.self) == value)
                #expect(try rows[0]("value", as: T?.self) == value)
                #expect(try rows[0]("none", as: T?.self) == nil)
            }
        }
    }

    @Test func texts() async throws {
        try await expectRoundTrip([
            "", "a", "漏单 ü \u{1F4B0}", String(repeating: "x", count: 1_000_000), "\u{1}\n\r\t\\",
        ])
    }

    @Test func integers() async throws {
        try await expectRoundTrip([Int.min, -1, 0, 1, Int.max])
        try await expectRoundTrip([Int64.min, 0, Int64.max])
        try await expectRoundTrip([Int32.min, 0, Int32.max])
        try await expectRoundTrip([Int16.min, 0, Int16.max])
    }

    @Test func otherScalars() async throws {
        try await expectRoundTrip([true, false])
        try await expectRoundTrip([
            0, -0.1, .pi, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
        ])
        try await expectRoundTrip([Data(), Data([0, 255, 39, 92]), Data(repeating: 0, count: 100_000)])
        try await expectRoundTrip([UUID(), UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))])
    }

    @Test func dates() async throws {
        try await expectRoundTrip([
            Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1_700_000_000.123_456),
            Date(timeIntervalSince1970: -2_000_000_000), Date(timeIntervalSince1970: 4_000_000_000),
        ])
    }

    @Test func arrays() async throws {
        try await expectRoundTrip([[], ["a"], ["", "{}", "NULL", "\"", "a,b", "\\"]])
        try await expectRoundTrip([["a", nil, ""], [nil], []] as [[String?]])
        try await expectRoundTrip([[Int64.min, Int64.max], []])
        try await expectRoundTrip([[1, 2, 3], []] as [[Int]])
        try await expectRoundTrip([[Int16.min, Int16.max]])
        try await expectRoundTrip([[Date(timeIntervalSince1970: 1)]])
        try await expectRoundTrip([[Date(timeIntervalSince1970: 1), nil]])
        try await expectRoundTrip([[true, false]])
        try await expectRoundTrip([[Data([0]), Data()]])
        try await expectRoundTrip([[1.5, -2]])
    }

    /// The server's own text of a value shows that both mean the same by it.
    @Test func theServerReadsTheSame() async throws {
        try await withConnection { connection in
            try await connection.execute("SET timezone TO 'UTC'")
            let date = Date(timeIntervalSince1970: 1_700_000_000.25)
            let rows = try await connection.query(
                """
                SELECT \(date)::text AS date, \(Int16(-3))::text AS small, \(Data([1, 171]))::text AS bytes,
                    \(["a", nil])::text AS list, \(Date.distantFuture > date)::text AS truth, \(0.1)::text AS double
                """)
            let texts = try rows[0].columnNames.map { try rows[0]($0, as: String.self) }
            #expect(texts == ["2023-11-14 22:13:20.25+00", "-3", #"\x01ab"#, "{a,NULL}", "true", "0.1"])
        }
    }

    @Test func randomRowsComeBackAsTheyWere() async throws {
        var generator = SystemRandomNumberGenerator()
        let samples = (0..<200).map { _ in Sample(using: &generator) }
        try await withConnection { connection in
            for sample in samples {
                let rows = try await connection.query(
                    """
                    SELECT \(sample.text) AS text, \(sample.number) AS number, \(sample.date) AS date,
                        \(sample.bytes) AS bytes, \(sample.list) AS list
                    """)
                let back = Sample(
                    text: try rows[0]("text"), number: try rows[0]("number"), date: try rows[0]("date"),
                    bytes: try rows[0]("bytes"), list: try rows[0]("list"))
                #expect(back == sample)
            }
        }
    }

    @Test func aDateBeyondTheServersRangeIsInfinite() async throws {
        try await withConnection { connection in
            let far = Date(timeIntervalSince1970: .infinity)
            let rows = try await connection.query("SELECT \(far) = 'infinity' AS is_infinite, \(far) AS date")
            #expect(try rows[0]("is_infinite", as: Bool.self))
            #expect(throws: PostgreSQLError.self) { try rows[0]("date", as: Date.self) }
        }
    }

    @Test(arguments: [1.0, -0.5, 0, 123_456_789.123_456, 1e20])
    func aDateThatIsNoNumberIsRefused(_ seconds: Double) async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgreSQLError.self) {
                try await connection.query("SELECT \(Date(timeIntervalSince1970: .nan * seconds)) AS date")
            }
            #expect(error?.sqlState?.rawValue == "08P01")
            #expect(connection.isAlive)
        }
    }

    @Test func aNULInATextIsRefusedByTheServer() async throws {
        try await withConnection { connection in
            let error = await #expect(throws: PostgreSQLError.self) { try await connection.query("SELECT \("a\0b")") }
            #expect(error?.sqlState?.rawValue == "22021")
        }
    }
}

private struct Sample: Equatable {
    let text: String?
    let number: Int?
    let date: Date?
    let bytes: Data?
    let list: [String?]

    init(text: String?, number: Int?, date: Date?, bytes: Data?, list: [String?]) {
        (self.text, self.number, self.date, self.bytes, self.list) = (text, number, date, bytes, list)
    }

    init(using generator: inout some RandomNumberGenerator) {
        func text() -> String? {
            guard Int.random(in: 0..<5, using: &generator) > 0 else { return nil }
            let scalars = (0..<Int.random(in: 0..<40, using: &generator)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 1...0x10FFFF, using: &generator))
            }
            return String(String.UnicodeScalarView(scalars))
        }
        self.text = text()
        number = Bool.random(using: &generator) ? Int.random(in: .min ... .max, using: &generator) : nil
        let microseconds = Int64.random(in: -4_000_000_000_000_000...4_000_000_000_000_000, using: &generator)
        date = Date(timeIntervalSinceReferenceDate: Double(microseconds) / 1_000_000)
        bytes = Data((0..<Int.random(in: 0..<50, using: &generator)).map { _ in .random(in: 0...255) })
        list = (0..<Int.random(in: 0..<6, using: &generator)).map { _ in text() }
    }
}
