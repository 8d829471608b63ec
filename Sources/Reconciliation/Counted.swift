extension BinaryInteger {
    /// The number with what is counted: “1 receipt”, “2 receipts”.
    ///
    /// - Parameter many: the word for any number but one; `nil` if an “s” makes it.
    public func counted(_ one: String, _ many: String? = nil) -> String {
        "\(self) \(self == 1 ? one : many ?? one + "s")"
    }
}
