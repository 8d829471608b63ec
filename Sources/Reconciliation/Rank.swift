extension CaseIterable where Self: Equatable, AllCases == [Self] {
    /// Its place in the list, by which the words of a list are put in order.
    var rank: Int { Self.allCases.firstIndex(of: self) ?? Self.allCases.count }
}
