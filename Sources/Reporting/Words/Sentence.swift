/// What the report says, in whichever language: a phrase, and the values that belong in it.
protocol Sentence {
    var phrase: Phrase { get }
    var values: [String: String] { get }
}

extension Wording {
    func callAsFunction(_ sentence: some Sentence) -> String { self(sentence.phrase, sentence.values) }

    /// The sentence as part of a line of text, whatever strangers wrote into its values.
    ///
    /// - Parameter longest: how many characters of a value are shown.
    func line(_ sentence: some Sentence, longest: Int = 300) -> String {
        self(sentence.phrase, sentence.values.mapValues { Printable.text($0, longest: longest) })
    }

    /// The sentence on a page, whatever strangers wrote into its values.
    func html(_ sentence: some Sentence) -> HTML {
        let values = sentence.values
        return Template(text(of: sentence.phrase)).filled(values.mapValues(HTML.foreign)) { values[$0] == "1" }
    }
}
