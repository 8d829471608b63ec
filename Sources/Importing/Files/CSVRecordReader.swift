import CCSV

/// Splits one record of CSV into its fields, with libcsv in its strict mode: RFC 4180, in which spaces belong to a
/// field.
///
/// libcsv can neither say where in a file it is nor continue after an error, so it is given one record at a time, which
/// `RecordFramer` cuts out.
final class CSVRecordReader {
    /// What libcsv passes to its callbacks.
    private final class Collected {
        /// `nil` for a field that PostgreSQL could not store as text.
        var fields: [String?] = []
        var records = 0
    }

    private let parser = UnsafeMutablePointer<csv_parser>.allocate(capacity: 1)
    private let collected = Collected()
    /// libcsv grows its buffer by this many bytes at a time; its default of 128 is too few for a receipt of megabytes.
    private static let blockSize = 1 << 16

    private let separator: UInt8

    init(separator: UInt8 = UInt8(ascii: ",")) {
        self.separator = separator
        begin()
    }

    deinit {
        csv_free(parser)
        parser.deallocate()
    }

    private func begin() {
        csv_init(parser, UInt8(CSV_STRICT | CSV_STRICT_FINI))
        csv_set_delim(parser, separator)
        csv_set_space_func(parser) { _ in 0 }
        csv_set_blk_size(parser, Self.blockSize)
    }

    /// The record's fields; `nil` if it is malformed. A field that is not UTF-8, or holds a NUL, is `nil`.
    func fields(of record: UnsafeRawBufferPointer) -> [String?]? {
        collected.fields.removeAll(keepingCapacity: true)
        collected.records = 0
        let context = Unmanaged.passUnretained(collected).toOpaque()
        let isWhole =
            csv_parse(parser, record.baseAddress, record.count, Self.takeField, Self.takeEnd, context) == record.count
            && csv_fini(parser, Self.takeField, Self.takeEnd, context) == 0
        guard isWhole, collected.records == 1 else {
            csv_free(parser)
            begin()
            return nil
        }
        return collected.fields
    }

    /// Whether what can't be split as one record is all lines of a file that ends each with CR alone, as Excel's “CSV
    /// (Macintosh)” does.
    static func isOfCRAlone(_ record: UnsafeRawBufferPointer) -> Bool { record.dropLast().contains(0x0D) }

    private static let takeField: @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?) -> Void = {
        bytes, count, context in
        guard let context else { return }
        let field = UnsafeRawBufferPointer(start: bytes, count: count)
        let text = field.contains(0) ? nil : String(validating: field, as: UTF8.self)
        Unmanaged<Collected>.fromOpaque(context).takeUnretainedValue().fields.append(text)
    }

    private static let takeEnd: @convention(c) (Int32, UnsafeMutableRawPointer?) -> Void = { _, context in
        guard let context else { return }
        Unmanaged<Collected>.fromOpaque(context).takeUnretainedValue().records += 1
    }
}
