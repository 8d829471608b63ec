import Foundation
import Reconciliation
import Verification

/// Reads windows of Apple's history of an app's notifications side by side, and gives what it read in batches. A window
/// is over when its last page came. The history is read as far as the windows are over, counted from the first without
/// a gap. A window that fails holds up no other, and a later night asks for it again.
struct HistoryReading {
    /// Notices to be taken together.
    struct Batch {
        fileprivate(set) var notices: [Notice] = []
        /// What could not be read of the pages, in a sentence each.
        fileprivate(set) var unreadable: [String] = []
        fileprivate(set) var unusable: [UnusableNotice] = []
        /// From when and up to when the history is read once these are taken; `nil` if that is no further than before.
        fileprivate(set) var heardFrom: Date?
        fileprivate(set) var heardThrough: Date?

        mutating func forgetHowFar() { (heardFrom, heardThrough) = (nil, nil) }
    }

    /// How many notices are taken together: more would fill memory, fewer would cost a commit each.
    private static let batchSize = 500
    /// How many windows may fail one after the other. If so many do, it is not because of a page, and the rest is left
    /// to a later night.
    private static let mostFailures = 3

    private let windows: [HearingWindow]
    private let isBackward: Bool
    /// The next window to be begun, and the first that is not over.
    private var begun = 0
    private var firstOpen = 0
    private var over: Set<Int> = []
    private var begunAnew: Set<Int> = []
    private var courses: [Int: WindowCourse] = [:]
    private var batch = Batch()
    private var failuresInARow = 0
    /// Whether nothing more is asked.
    private(set) var isGivenUp = false
    /// Why not all could be read.
    private(set) var problem: String?

    /// - Parameter isBackward: whether the latest window is the first.
    init(_ windows: [HearingWindow], isBackward: Bool = false) {
        self.windows = windows
        self.isBackward = isBackward
    }

    /// A page to ask for.
    struct Question: Sendable {
        fileprivate let number: Int
        let window: HearingWindow
        let token: String?

        /// The first page of the same window.
        fileprivate var first: Question { Question(number: number, window: window, token: nil) }
    }

    /// The first page of the next window; `nil` if all are begun, or if nothing more is asked.
    mutating func next() -> Question? {
        guard !isGivenUp, begun < windows.count else { return nil }
        defer { begun += 1 }
        return Question(number: begun, window: windows[begun], token: nil)
    }

    /// Takes what came of a question, and gives the one that follows from it.
    mutating func take(_ outcome: NoticeHistory.Outcome, of question: Question) -> Question? {
        switch outcome {
        case .page(let page):
            batch.notices += page.notices
            // The page may have been damaged on its way here.
            if !page.unreadable.isEmpty, let first = beginAnew(question) { return first }
            batch.unreadable += page.unreadable
            batch.unusable += page.unusable
            if page.isCutOff {
                return anew(question, "Apple's answer could not be read: it says that there is more, and not where")
            }
            guard let token = page.next else {
                end(question.number)
                return nil
            }
            if let why = courses[question.number, default: WindowCourse()].flaw(of: page, next: token) {
                return anew(question, why)
            }
            return Question(number: question.number, window: question.window, token: token)
        case .pageTokenRefused: return anew(question, "Apple refuses the page tokens that it gives")
        case .problem(let why): return anew(question, why)
        case .needsConfiguration(let why):
            // What somebody must mend is told rather than what only failed.
            problem = why
            isGivenUp = true
            return nil
        case .notTried:
            problem = problem ?? "Apple could not be reached"
            isGivenUp = true
            return nil
        }
    }

    /// Reads the window again from its first page, once. A token lasts for some minutes, and notices that are there
    /// already change nothing.
    private mutating func anew(_ question: Question, _ why: String) -> Question? {
        if let first = beginAnew(question) { return first }
        courses[question.number] = nil
        failuresInARow += 1
        problem = problem ?? why
        if failuresInARow >= Self.mostFailures { isGivenUp = true }
        return nil
    }

    /// `nil` if the window was begun anew before.
    private mutating func beginAnew(_ question: Question) -> Question? {
        guard begunAnew.insert(question.number).inserted else { return nil }
        courses[question.number] = nil
        return question.first
    }

    private mutating func end(_ number: Int) {
        courses[number] = nil
        failuresInARow = 0
        over.insert(number)
        while over.remove(firstOpen) != nil {
            batch.heardFrom = windows[isBackward ? firstOpen : 0].start
            if !isBackward { batch.heardThrough = windows[firstOpen].end }
            firstOpen += 1
        }
    }

    /// What was read since the last batch, once it is enough for one, or all that is left.
    mutating func batch(isLast: Bool) -> Batch? {
        guard isLast || batch.notices.count >= Self.batchSize else { return nil }
        defer { batch = Batch() }
        return batch.notices.isEmpty && batch.unreadable.isEmpty && batch.heardFrom == nil ? nil : batch
    }
}
