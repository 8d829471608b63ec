/// A part of a longer answer.
public protocol ServerAPIPage: Sendable {
    /// The environment that answered; later pages are asked of the same.
    var environment: ServerEnvironment { get }
    /// Whether Apple has another page.
    var hasMore: Bool { get }
    /// The value to ask for the next page with (`revision`, `paginationToken`).
    var continuation: String? { get }
}

/// The pages of a longer answer, each asked for when it is wanted, so that only one is in memory at a time.
///
/// The sequence ends with the last page, or with the first outcome that is not a page.
public struct ServerAPIPages<Page: ServerAPIPage>: AsyncSequence, Sendable {
    public typealias Element = ServerAPIOutcome<Page>
    public typealias Failure = CancellationError

    typealias Fetch =
        @Sendable (_ after: String?, _ environment: ServerEnvironment?) async throws(CancellationError) ->
        ServerAPIOutcome<Page>

    private let first: (after: String?, environment: ServerEnvironment?)
    private let fetch: Fetch

    init(after first: String?, in environment: ServerEnvironment?, fetch: @escaping Fetch) {
        self.first = (first, environment)
        self.fetch = fetch
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(after: first.after, environment: first.environment, fetch: fetch)
    }

    public struct Iterator: AsyncIteratorProtocol {
        private var after: String?
        private var environment: ServerEnvironment?
        private var isAtEnd = false
        /// Why nothing comes after the last page, though Apple says that there is more.
        private var flaw: ServerAPIOutcome<Page>?
        /// Hashes only, as there may be many pages.
        private var asked: Set<Int> = []
        private let fetch: Fetch

        init(after: String?, environment: ServerEnvironment?, fetch: @escaping Fetch) {
            self.after = after
            self.environment = environment
            self.fetch = fetch
        }

        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(CancellationError) -> ServerAPIOutcome<Page>? {
            if isAtEnd {
                defer { flaw = nil }
                return flaw
            }
            let outcome = try await fetch(after, environment)
            guard let page = outcome.value, page.hasMore else {
                isAtEnd = true
                return outcome
            }
            // Otherwise the same page, or several in turn, would be asked for endlessly.
            asked.insert(after.hashValue)
            guard let continuation = page.continuation, !asked.contains(Optional(continuation).hashValue) else {
                // What the page itself holds is Apple's word all the same.
                isAtEnd = true
                flaw = .tryAgain(.unreadable("it says that there is more, and not where"))
                return outcome
            }
            after = continuation
            environment = page.environment
            return outcome
        }
    }
}
