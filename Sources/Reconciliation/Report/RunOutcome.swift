/// How a run ended.
public enum RunOutcome: Hashable, Sendable {
    /// Everything due was tried.
    case complete
    /// It ended before everything due was tried, for the reason given in a sentence.
    case endedEarly(String)
}
