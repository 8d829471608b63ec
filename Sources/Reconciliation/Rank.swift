extension CaseIterable where Self: Equatable, AllCases == [Self] {
    /// The value's position in the list of all, by which values are ordered.
    package var rank: Int { Self.allCases.firstIndex(of: self) ?? Self.allCases.count }
}
