/// Texts that clients sent, made fit for a terminal or a mail.
enum Printable {
    /// The text without what could move the cursor or reorder the line, cut to what a line can bear.
    static func text(_ text: String, longest: Int = 80) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(longest).map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }
}
