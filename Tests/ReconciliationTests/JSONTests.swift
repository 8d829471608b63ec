import Foundation
import Reconciliation
import Testing

/// How the program writes JSON, and reads its own.
@Suite struct JSONTests {
    private struct Sample: Codable, Equatable {
        let runID: Int
        let userIDs: [String]
        let isNew: Bool
        let byName: [String: Int]
        let endedAt: Date
        let url: String?

        enum CodingKeys: String, CodingKey {
            case runID = "run_id"
            case userIDs = "user_ids"
            case isNew = "is_new"
            case byName = "by_name"
            case endedAt = "ended_at"
            case url
        }
    }

    private struct Named: Encodable {
        let webOrderLineItemID = "1"
        let timeZone = "a/b"
    }

    private let sample = Sample(
        runID: 7, userIDs: ["Ben"], isNew: true, byName: ["someName": 1, "JPY": 2],
        endedAt: Date(timeIntervalSince1970: 1_790_000_000.25), url: nil)

    @Test func keysAreInSnakeCaseAndInOrder() throws {
        #expect(try String(json: Named()) == #"{"time_zone":"a/b","web_order_line_item_id":"1"}"#)
        #expect(
            try String(json: Named(), isPretty: true) == """
                {
                  "time_zone" : "a/b",
                  "web_order_line_item_id" : "1"
                }
                """)
    }

    @Test func keysOfDictionariesStayAsTheyAre() throws {
        #expect(
            try String(json: sample) == """
                {"by_name":{"JPY":2,"someName":1},"ended_at":"2026-09-21T14:13:20.250Z","is_new":true,"run_id":7,\
                "user_ids":["Ben"]}
                """)
    }

    @Test func whatIsWrittenIsRead() throws {
        let decoder = JSONDecoder.snakeCase()
        #expect(try decoder.decode(Sample.self, from: Data(try String(json: sample).utf8)) == sample)
        let second = try decoder.decode([Date].self, from: Data(#"["2026-09-21T14:13:20Z"]"#.utf8))
        #expect(second == [Date(timeIntervalSince1970: 1_790_000_000)])
        #expect(throws: DecodingError.self) {
            try decoder.decode([Date].self, from: Data(#"["yesterday"]"#.utf8))
        }
    }
}
