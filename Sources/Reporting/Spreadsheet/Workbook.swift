import CXLSXWriter
import Files
import Foundation
import Glibc
import Reconciliation

/// A spreadsheet that libxlsxwriter writes row by row, in memory that does not grow with the number of rows.
final class Workbook {
    private let path: String
    /// For the library's temporary files.
    private let folder: String
    private var workbook: UnsafeMutablePointer<lxw_workbook>?
    private var sheets: [UnsafeMutablePointer<lxw_worksheet>] = []
    let formats: Formats

    /// The formats of its cells.
    struct Formats {
        let heading, plain, day, moment: UnsafeMutablePointer<lxw_format>?
        /// Wrapped into as many lines as needed, so that nothing is cut off in print.
        let text, bold: UnsafeMutablePointer<lxw_format>?
        /// By the number of decimals.
        let money: [UnsafeMutablePointer<lxw_format>?]
    }

    init(path: String, folder: String, title: String, created: Date) throws(ReportError) {
        self.path = path
        self.folder = folder
        // The library copies the name of the folder for its temporary files.
        let temporary = strdup(folder)
        defer { free(temporary) }
        // The library opens a new file for whoever the umask lets read it: so it is there before.
        try ReportFile(path: path).finish()
        var options = lxw_workbook_options()
        options.constant_memory = 1
        options.tmpdir = temporary
        guard let made = workbook_new_opt(path, &options) else {
            throw .failed(path: path, reason: "out of memory")
        }
        workbook = made
        formats = Formats(
            heading: Self.format(made) {
                format_set_bold($0)
                format_set_bottom($0, 1)
            },
            plain: Self.format(made) { _ in },
            day: Self.format(made) { format_set_num_format($0, "yyyy-mm-dd") },
            moment: Self.format(made) { format_set_num_format($0, "yyyy-mm-dd hh:mm:ss") },
            text: Self.format(made) { format_set_text_wrap($0) },
            bold: Self.format(made) {
                format_set_text_wrap($0)
                format_set_bold($0)
            },
            money: ["#,##0", "#,##0.0", "#,##0.00", "#,##0.000"].map { (pattern: String) in
                Self.format(made) { format_set_num_format($0, pattern) }
            })
        try describe(title: title, created: created)
    }

    deinit {
        if let workbook { lxw_workbook_free(workbook) }
    }

    /// Adds a sheet. Its name has at most 31 characters and none of `[]:*?/\`, and no other sheet has it.
    func sheet(_ name: String) throws(ReportError) -> UnsafeMutablePointer<lxw_worksheet> {
        guard let sheet = workbook_add_worksheet(workbook, name) else {
            throw .failed(path: path, reason: "the spreadsheet takes no sheet “\(name)”")
        }
        sheets.append(sheet)
        return sheet
    }

    /// Writes the file and puts it on the disk.
    func close() throws(ReportError) {
        guard let workbook else { return }
        // It copies the rows once more, and packs them.
        try reserve(try rowBytes() * 3 / 2 + 256 * 1024)
        self.workbook = nil
        try check(workbook_close(workbook))
        try ReportFile.settle(path)
    }

    /// How many bytes of rows the library has put into its temporary files so far. If the disk is full it leaves rows
    /// out and says nothing, but the files remember.
    private func rowBytes() throws(ReportError) -> Int {
        var bytes = 0
        for sheet in sheets {
            guard let rows = sheet.pointee.optimize_tmpfile else { continue }
            guard fflush(rows) == 0 else { throw .failed(path: path, reason: ReportFile.lastError()) }
            guard ferror(rows) == 0 else {
                throw .failed(path: path, reason: "not all rows could be written to a temporary file")
            }
            bytes += ftell(rows)
        }
        return bytes
    }

    /// Looks whether the disk takes so many bytes more: of what the library writes at the end nothing remembers.
    private func reserve(_ bytes: Int) throws(ReportError) {
        let room = try ReportFile.temporary("\(folder)/.room-")
        room.remove()
        let number = withExtendedLifetime(room.handle) { posix_fallocate($0.fileDescriptor, 0, bytes) }
        guard number == 0 else { throw .failed(path: path, reason: SystemFailure(number: number).description) }
    }

    func check(_ error: lxw_error) throws(ReportError) {
        guard error != LXW_NO_ERROR else { return }
        throw .failed(path: path, reason: String(cString: lxw_strerror(error)))
    }

    private static func format(
        _ workbook: UnsafeMutablePointer<lxw_workbook>, _ set: (UnsafeMutablePointer<lxw_format>) -> Void
    ) -> UnsafeMutablePointer<lxw_format>? {
        let format = workbook_add_format(workbook)
        if let format {
            format_set_align(format, UInt8(LXW_ALIGN_VERTICAL_TOP.rawValue))
            set(format)
        }
        return format
    }

    /// Sets the properties. The moment replaces the present, so that the same findings give the same bytes.
    private func describe(title: String, created: Date) throws(ReportError) {
        let (title, program) = (strdup(title), strdup("iap-reconcile"))
        defer {
            free(title)
            free(program)
        }
        var properties = lxw_doc_properties()
        properties.title = title
        properties.author = program
        properties.created = time_t(created.timeIntervalSince1970)
        try check(workbook_set_properties(workbook, &properties))
    }
}
