/// What a person may decide on a case in the report's spreadsheet. The raw value is the word for programs.
public enum DeskDecision: String, Hashable, Sendable, CaseIterable {
    /// The goods were delivered by hand.
    case delivered
    /// The app's server shall deliver them, without the customer.
    case deliver
    /// Nothing is owed after all.
    case dismissed
    /// The money went back.
    case refunded
}
