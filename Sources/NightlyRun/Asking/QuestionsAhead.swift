import Job
import Ledger
import Verification

/// Asks Apple several questions at the same time, and takes what it answers one answer after the other.
struct QuestionsAhead {
    let context: RunContext

    /// Sixteen are enough for the fifty a second that Apple allows if an answer takes 300 ms. The client sees to it that
    /// there are no more. With one request in flight the answers come in the order of the questions.
    private var most: Int { min(16, context.settings.apple.concurrency) }

    /// Asks until there is nothing more to ask, the ledger fails, or the run is asked to stop.
    ///
    /// - Parameters:
    ///   - next: gives the next question; `nil` if there is none.
    ///   - answer: asks one, side by side with others.
    ///   - take: takes an answer, and gives the question that follows from it, if one does.
    ///   - keep: keeps what was taken if that is enough for a batch, or all of it if no question is under way any more.
    func ask<Question: Sendable, Answer: Sendable>(
        next: () -> Question?,
        answer: @escaping @Sendable (Question) async throws(CancellationError) -> Answer,
        take: (Answer) -> Question?,
        keep: (_ isLast: Bool) async throws(LedgerError) -> Void
    ) async throws(LedgerError) {
        let result = await withTaskGroup(of: Answer?.self) { [stop = context.stop] group -> Result<Void, LedgerError> in
            func ask(_ question: Question?) {
                guard let question else { return }
                group.addTask { await stop.cancelling { try? await answer(question) } }
            }
            for _ in 0..<most { ask(next()) }
            while let answer = await group.next(), !stop.isRequested {
                ask(answer.flatMap(take) ?? next())
                do throws(LedgerError) {
                    try await keep(group.isEmpty)
                } catch {
                    group.cancelAll()
                    return .failure(error)
                }
            }
            group.cancelAll()
            return .success(())
        }
        try result.get()
    }
}
