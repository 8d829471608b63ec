/// The words by which an enumeration is written.
public func words<Word: CaseIterable & RawRepresentable<String>>(of _: Word.Type) -> Set<String> {
    Set(Word.allCases.map(\.rawValue))
}
