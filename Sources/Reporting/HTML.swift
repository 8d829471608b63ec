import Foundation

/// A piece of a page. Interpolated values are escaped, unless they are pieces themselves: a client's text can't become
/// markup.
struct HTML: ExpressibleByStringInterpolation, ExpressibleByStringLiteral {
    private(set) var text: String

    init(stringLiteral value: String) { text = value }
    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    struct Interpolation: StringInterpolationProtocol {
        var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + interpolationCount * 16)
        }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: String) { text += HTML.escaped(value) }
        mutating func appendInterpolation(_ value: Int) { text += String(value) }
        mutating func appendInterpolation(_ piece: HTML) { text += piece.text }
        mutating func appendInterpolation(_ pieces: [HTML]) { for piece in pieces { text += piece.text } }
    }

    /// A client's text, cut for display and isolated, so that right-to-left marks in it reorder nothing around it. An
    /// isolate or override that it leaves open, or the end of one that it did not begin, would take it out of the
    /// element's own isolate.
    static func foreign(_ value: String) -> HTML {
        "<bdi>\(Printable.inOrder(Printable.cut(value, to: 300, ending: "…")))</bdi>"
    }

    /// A name of parts, which where it does not fit a line ends that behind a dot or underscore, not within a word.
    static func wrapping(_ value: String) -> HTML {
        var html: HTML = "\(value)"
        html.text = html.text.replacing(".", with: ".<wbr>").replacing("_", with: "_<wbr>")
        return html
    }

    static func joined(_ pieces: [HTML]) -> HTML {
        pieces.reduce("") { joined, piece in joined.text.isEmpty ? piece : "\(joined), \(piece)" }
    }

    static func + (a: HTML, b: HTML) -> HTML { "\(a)\(b)" }

    /// Escapes a value for text and quoted attributes. Control characters have no place in a page (HTML Living
    /// Standard, section 13.1.4).
    private static func escaped(_ value: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(value.utf8.count)
        for scalar in value.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value): escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
