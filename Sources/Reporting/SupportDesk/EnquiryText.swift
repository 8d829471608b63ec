public import Foundation
public import Reconciliation

/// What the support desk reads of an enquiry: calm, aligned text that ends in one plain verdict.
public struct EnquiryText {
    let formats: Formats
    let words = English()

    /// - Parameter timeZone: in which times are written.
    public init(timeZone: TimeZone) {
        formats = Formats(timeZone: timeZone)
    }

    public func text(of enquiry: Enquiry) -> String {
        var blocks = enquiry.transactions.map { block(of: $0, isOnly: enquiry.transactions.count == 1) }
        blocks += appleBlocks(enquiry)
        blocks += enquiry.orders.map(block)
        if let user = enquiry.user { blocks.append(block(of: user, id: enquiry.id)) }
        blocks += [claims(enquiry.strayClaims), receipts(enquiry.troubledReceipts)].filter { !$0.lines.isEmpty }
        if enquiry.isCut { blocks.append(TextBlock("More is known than is listed here; ask by a transaction id.")) }
        let verdict = DeskVerdict(of: enquiry)
        let zone = blocks.isEmpty ? [] : ["Times are of \(formats.zoneName)."]
        return (zone + blocks.map(\.text) + [sentence(verdict)]).joined(separator: "\n\n") + "\n"
    }

    func moment(_ date: Date) -> String { formats.local(date) }

    func by(_ user: String?) -> String {
        user.map { words(.byUser, ["user": Printable.text($0)]) } ?? words(.nobody)
    }
}

/// A heading, and lines below it whose names are aligned.
struct TextBlock {
    let title: String
    private(set) var lines: [(name: String, text: String)] = []

    init(_ title: String) {
        self.title = title
    }

    mutating func add(_ name: String, _ text: String?) {
        if let text { lines.append((name, text)) }
    }

    /// Several texts under one name.
    mutating func add(_ name: String, _ texts: [String]) {
        for (index, text) in texts.enumerated() { lines.append((index == 0 ? name : "", text)) }
    }

    var text: String {
        let width = lines.map(\.name.count).max() ?? 0
        let aligned = lines.map { name, text in
            "  " + name + String(repeating: " ", count: width - name.count + 2) + text
        }
        return ([title] + aligned).joined(separator: "\n")
    }
}
