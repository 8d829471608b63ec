import Verification

/// How far a window of Apple's history is read, page by page. It makes sure that the pages end, whatever Apple answers:
/// the night holds its lock while it hears.
struct WindowCourse {
    /// More than any window has: a million notices.
    private static let mostPages = 50_000
    /// The most pages in a row that may hold nothing.
    private static let mostEmptyPages = 1000

    private var pages = 0
    private var emptyPages = 0
    /// Hashes: the tokens themselves would fill memory.
    private var tokens: Set<Int> = []

    /// Why the page after this one is not asked for; `nil` if it is.
    mutating func flaw(of page: NoticeHistory.Page, next token: String) -> String? {
        pages += 1
        emptyPages = page.notices.isEmpty && page.unreadable.isEmpty ? emptyPages + 1 : 0
        guard tokens.insert(token.hashValue).inserted else {
            return "Apple's answer could not be read: it names a page once more that was read already"
        }
        guard emptyPages < Self.mostEmptyPages else {
            return "Apple's answer could not be read: \(emptyPages) pages in a row hold nothing, and there is more"
        }
        guard pages < Self.mostPages else {
            return "Apple's answer could not be read: a window of its history has over \(pages) pages"
        }
        return nil
    }
}
