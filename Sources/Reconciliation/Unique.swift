extension Array {
    /// The first of the elements with each key, in their order.
    package func unique<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var seen: Set<Key> = []
        return filter { seen.insert(key($0)).inserted }
    }
}

extension Array where Element: Hashable {
    /// Each element once, in the order of its first appearance.
    package var unique: [Element] { unique(by: \.self) }
}
