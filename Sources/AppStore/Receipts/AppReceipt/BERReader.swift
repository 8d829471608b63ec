/// Reads ASN.1 elements one after another from untrusted bytes.
///
/// Accepts the BER that Apple and Xcode write: lengths of any form up to four bytes, also indefinite ones, and strings
/// in segments. It never reads outside its bytes, and never recurses, so nesting costs no stack.
struct BERReader {
    /// More open indefinite lengths, or levels of string segments, than any real receipt has.
    static let depthLimit = 16

    private let bytes: [UInt8]
    private(set) var position: Int
    private let end: Int
    /// The position for errors, if these bytes were put together from segments.
    private let segmentsPosition: Int?

    init(_ bytes: [UInt8]) {
        self.init(bytes, 0..<bytes.count, segmentsPosition: nil)
    }

    private init(_ bytes: [UInt8], _ range: Range<Int>, segmentsPosition: Int?) {
        self.bytes = bytes
        self.position = range.lowerBound
        self.end = range.upperBound
        self.segmentsPosition = segmentsPosition
    }

    var isAtEnd: Bool { position >= end }

    /// What has not been read yet.
    var rest: ArraySlice<UInt8> { bytes[min(position, end)..<end] }

    /// The tag of the next element, without reading it.
    var nextTag: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Reads the next element, which must begin and end within these bytes.
    mutating func next() throws(BERError) -> BERElement {
        let start = position
        let header = try header(at: start)
        guard let length = header.length else {
            let (contentEnd, next) = try endOfIndefinite(from: header.end)
            position = next
            return BERElement(tag: header.tag, start: start, content: header.end..<contentEnd)
        }
        position = header.end + length
        return BERElement(tag: header.tag, start: start, content: header.end..<position)
    }

    /// Reads the next element, which must have this tag.
    mutating func next(_ tag: UInt8) throws(BERError) -> BERElement {
        let element = try next()
        guard element.tag == tag else { throw malformed(at: element.start) }
        return element
    }

    /// Whether so many elements at most are left, without reading further than that.
    func holds(atMost limit: Int) throws(BERError) -> Bool {
        var ahead = self
        for _ in 0..<limit where !ahead.isAtEnd { _ = try ahead.next() }
        return ahead.isAtEnd
    }

    /// A reader of the element's content.
    func inside(_ element: BERElement) -> BERReader {
        BERReader(bytes, element.content, segmentsPosition: segmentsPosition)
    }

    /// A reader of an octet string's octets, which may be in segments.
    func octets(of element: BERElement) throws(BERError) -> BERReader {
        switch element.tag {
        case BERTag.octetString: return inside(element)
        case BERTag.segmentedOctetString: return try joined(element)
        default: throw malformed(at: element.start)
        }
    }

    /// An error that says that the bytes break the format at this position.
    func malformed(at position: Int) -> BERError {
        BERError(position: segmentsPosition ?? position, isTruncated: false)
    }

    private func truncated() -> BERError {
        BERError(position: segmentsPosition ?? end, isTruncated: true)
    }

    private func joined(_ element: BERElement) throws(BERError) -> BERReader {
        var octets: [UInt8] = []
        var open = [inside(element)]
        while var segments = open.popLast() {
            guard !segments.isAtEnd else { continue }
            let segment = try segments.next()
            open.append(segments)
            switch segment.tag {
            case BERTag.octetString: octets.append(contentsOf: bytes[segment.content])
            case BERTag.segmentedOctetString where open.count < Self.depthLimit: open.append(inside(segment))
            default: throw malformed(at: segment.start)
            }
        }
        return BERReader(octets, 0..<octets.count, segmentsPosition: segmentsPosition ?? element.start)
    }

    private struct Header {
        let tag: UInt8
        /// `nil` for an indefinite length.
        let length: Int?
        let end: Int
    }

    private func header(at start: Int) throws(BERError) -> Header {
        guard end - start >= 2 else { throw truncated() }
        let tag = bytes[start]
        // Tag numbers above 30 take more bytes; no receipt has any.
        guard tag & 0x1F != 0x1F else { throw malformed(at: start) }
        let first = bytes[start + 1]
        if first == 0x80 {
            guard tag & BERTag.constructed != 0 else { throw malformed(at: start) }
            return Header(tag: tag, length: nil, end: start + 2)
        }
        let count = first < 0x80 ? 0 : Int(first & 0x7F)
        guard count <= 4 else { throw malformed(at: start) }
        let headerEnd = start + 2 + count
        guard headerEnd <= end else { throw truncated() }
        let length = count == 0 ? Int(first) : bytes[(start + 2)..<headerEnd].reduce(0) { $0 << 8 | Int($1) }
        guard length <= end - headerEnd else { throw truncated() }
        return Header(tag: tag, length: length, end: headerEnd)
    }

    /// Finds the end of content that end-of-contents octets close, and the beginning of the next element.
    private func endOfIndefinite(from start: Int) throws(BERError) -> (contentEnd: Int, next: Int) {
        var open = 1
        var place = start
        while true {
            let header = try header(at: place)
            if header.tag == 0, header.length == 0 {
                open -= 1
                if open == 0 { return (place, header.end) }
            } else if header.length == nil {
                open += 1
                guard open <= Self.depthLimit else { throw malformed(at: place) }
            }
            place = header.end + (header.length ?? 0)
        }
    }
}

/// One element: its tag, and the positions of it and its content.
struct BERElement {
    let tag: UInt8
    let start: Int
    let content: Range<Int>
}

/// The position at which bytes break the format.
struct BERError: Error, Hashable {
    let position: Int
    /// They end too early.
    let isTruncated: Bool
}

/// First octets of elements.
enum BERTag {
    static let constructed: UInt8 = 0x20
    static let integer: UInt8 = 0x02
    static let octetString: UInt8 = 0x04
    static let segmentedOctetString: UInt8 = 0x24
    static let utf8String: UInt8 = 0x0C
    static let printableString: UInt8 = 0x13
    static let ia5String: UInt8 = 0x16
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
}
