/// An array as PostgreSQL reads it from text (its documentation, section 8.15.2): so a column of arrays that differ in
/// length can be one array of texts.
struct ArrayLiteral {
    let text: String

    init(_ elements: [String]) {
        var text = "{"
        for element in elements {
            text += text.utf8.count > 1 ? ",\"" : "\""
            for character in element.unicodeScalars {
                if character == "\"" || character == "\\" { text.unicodeScalars.append("\\") }
                text.unicodeScalars.append(character)
            }
            text += "\""
        }
        self.text = text + "}"
    }
}
