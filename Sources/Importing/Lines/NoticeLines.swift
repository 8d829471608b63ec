import Foundation

/// The notifications of a file, one a line: a `signedPayload` as Apple signed it, or the JSON that Apple posted,
/// `{"signedPayload":"…"}`.
package struct NoticeLines {
    /// A line that is not blank.
    package struct Line {
        package let number: Int
        /// `nil` if it is longer than any notification, or not text.
        package let payload: String?
    }

    /// Apple's notifications have 20 KB.
    private static let longestLine = 1 << 18
    private var framer: RecordFramer

    package init(_ source: any ByteSource) {
        framer = RecordFramer(source, limit: Self.longestLine)
    }

    /// The next line that is not blank; `nil` at the end.
    package mutating func next() throws -> Line? {
        guard let record = try framer.next() else { return nil }
        guard case .bytes(let range) = record.content,
            let text = framer.withBytes(range, { String(validating: $0, as: UTF8.self) })
        else { return Line(number: record.line, payload: nil) }
        let bare = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard bare.hasPrefix("{") else { return Line(number: record.line, payload: bare) }
        let posted = try? JSONDecoder().decode(Posted.self, from: Data(bare.utf8))
        return Line(number: record.line, payload: posted?.signedPayload)
    }

    private struct Posted: Decodable {
        let signedPayload: String
    }
}
