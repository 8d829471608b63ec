import Foundation

/// An id as it was copied from a cell of a spreadsheet: with spaces around it, or the apostrophe that keeps it a text.
/// An app's id of a user or an order may begin with either, so an id counts as it is, where it is known as it is.
public enum PastedID {
    /// The id without what the cell had around it; `nil` if there is nothing that may be taken away.
    public static func bare(_ id: String) -> String? {
        let trimmed = id.trimmingCharacters(in: .whitespacesAndNewlines)
        let bare = trimmed.hasPrefix("'") ? String(trimmed.dropFirst()) : trimmed
        guard bare != id, bare.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return nil }
        return bare
    }
}
