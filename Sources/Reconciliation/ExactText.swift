/// A text that equals only what is written in the same bytes, as in PostgreSQL. Swift takes texts for equal whose
/// letters are the same, such as “é” of one code point and of two, or “K” and the sign of the kelvin: as users or orders
/// of the app's own, these are two.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (a: ExactText, b: ExactText) -> Bool {
        a.text.utf8.elementsEqual(b.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Where it ends belongs to it, as in a string's own hash.
        hasher.combine(0xFF as UInt8)
    }
}

extension Sequence where Element == String {
    /// Each text once, by its bytes, in the order of its first appearance.
    package var exactlyUnique: [String] { Array(self).unique(by: ExactText.init) }

    /// Whether a text of the same bytes is among these.
    package func containsExactly(_ text: String) -> Bool {
        contains { $0.utf8.elementsEqual(text.utf8) }
    }
}
