import Foundation

/// What is around every page: the policy that allows only our own style and script, and the switch of languages.
struct PageShell {
    let readers: Readers

    /// From the document's first byte to the opening of `main`.
    func top(header: HTML, title: (Reader) -> String) -> HTML {
        let titles = readers.all.map { reader -> HTML in
            "<meta name=\"title-\(reader.language.rawValue)\" content=\"\(title(reader))\">"
        }
        return """
            <!DOCTYPE html>
            <html lang="\(readers.first.language.tag)" data-language="\(readers.first.language.rawValue)"><head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(HTML(stringLiteral: PageAssets.policy))">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <title>\(title(readers.first))</title>\(titles)
            <style>\(HTML(stringLiteral: PageAssets.style))</style></head><body>
            <header>\(header)<div class="languages" role="group" aria-label="Language / 语言" hidden>\(switches)</div></header>
            <main>

            """
    }

    /// Names each language in its own words, so that its readers find it.
    private var switches: HTML {
        ReportLanguage.allCases.reduce("") { html, language in
            let name = language == .english ? "English" : "中文"
            return """
                \(html)<button type="button" data-set-language="\(language.rawValue)" lang="\(language.tag)">\
                \(name)</button>
                """
        }
    }

    /// From the end of `main` to the document's last byte.
    var bottom: HTML {
        "</main><script>\(HTML(stringLiteral: PageAssets.script))</script></body></html>\n"
    }

    /// Data for the script, with the names that the script uses; nothing in it can end the element.
    static func data(id: String, _ value: some Encodable) throws -> HTML {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = String(decoding: try encoder.encode(value), as: UTF8.self)
        // In JSON, these occur only in strings.
        let safe = json.replacingOccurrences(of: "<", with: "\\u003c").replacingOccurrences(of: ">", with: "\\u003e")
        return HTML(
            stringLiteral: "<script type=\"application/json\" id=\"\(id)\">\(Printable.json(safe))</script>\n")
    }
}
