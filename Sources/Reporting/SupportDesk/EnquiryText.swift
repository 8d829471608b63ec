public import Foundation
public import Reconciliation

/// What the support desk reads of an enquiry: calm, aligned text that ends in one plain verdict.
public struct EnquiryText {
    let formats: Formats
    let words: any Wording

    /// - Parameters:
    ///   - timeZone: the zone for times.
    ///   - language: the language of the support desk.
    public init(timeZone: TimeZone, language: ReportLanguage) {
        formats = Formats(timeZone: timeZone)
        words = language.wording
    }

    /// Everything that is known, block by block. The verdict is the last line.
    public func text(of enquiry: Enquiry) -> String {
        var blocks = enquiry.transactions.map { block(of: $0, isOnly: enquiry.transactions.count == 1) }
        blocks += appleBlocks(enquiry)
        blocks += enquiry.orders.map(block)
        if let user = enquiry.user { blocks.append(block(of: user, id: enquiry.id)) }
        blocks += [claims(enquiry.strayClaims), receipts(enquiry.troubledReceipts)].filter { !$0.lines.isEmpty }
        if enquiry.isCut { blocks.append(TextBlock(say(.label(.cut)))) }
        let verdict = DeskVerdict(of: enquiry)
        let zone = blocks.isEmpty ? [] : [say(.label(.zone), ["zone": formats.zoneName])]
        return (zone + blocks.map(\.text) + [sentence(verdict)]).joined(separator: "\n\n") + "\n"
    }

    func say(_ phrase: EnquiryPhrase, _ values: [String: String] = [:]) -> String {
        Template(words.text(ofEnquiry: phrase)).filled(values)
    }

    func moment(_ date: Date) -> String { formats.local(date) }

    func by(_ user: String?) -> String {
        user.map { words(.byUser, ["user": Printable.text($0)]) } ?? words(.nobody)
    }

    /// The quantity; empty for a quantity of one, which nearly every purchase has.
    func quantity(_ number: Int) -> String { number == 1 ? "" : say(.line(.quantity), ["n": String(number)]) }
}
