/// An object of a JSON text, whose fields are decoded when they are asked for.
struct JSONObject: Sendable {
    private let tree: JSONTree
    private let index: Int

    /// `nil` if the bytes are not one JSON object.
    init?(_ json: [UInt8]) {
        guard let tree = JSONTree(json) else { return nil }
        self.init(tree, at: 0)
    }

    private init(_ tree: JSONTree, at index: Int) {
        self.tree = tree
        self.index = index
    }

    /// Whether there is a field of this name, whatever it holds. If there are several, the first is read.
    func contains(_ name: StaticString) -> Bool { value(name) != nil }

    /// Whether the field is there and is not empty, readable or not.
    func says(_ name: StaticString) -> Bool {
        guard let node = value(name).map({ tree.nodes[$0] }) else { return false }
        return node.kind != .null && (node.kind != .text || !node.range.isEmpty)
    }

    /// The object in the field.
    func object(_ name: StaticString) -> JSONObject? { value(name).flatMap(object) }

    /// A list of Apple's, which iOS 6 answers give as one object. An element that is no object is `nil`. The whole is
    /// `nil` if the field holds neither a list nor an object.
    func listOrOne(_ name: StaticString) -> [JSONObject?]? {
        guard let value = value(name) else { return nil }
        switch tree.nodes[value].kind {
        case .object: return [object(at: value)]
        case .list: return elements(of: value)
        case .null, .no, .yes, .number, .text, .escapedText: return nil
        }
    }

    /// The scalar in the field as text: a number as its digits, a Boolean as `true` or `false`.
    func scalar(_ name: StaticString) -> String? {
        guard let value = value(name) else { return nil }
        switch tree.nodes[value].kind {
        case .text, .escapedText: return tree.string(at: value)
        case .number: return tree.number(at: value)
        case .yes: return "true"
        case .no: return "false"
        case .null, .list, .object: return nil
        }
    }

    private func value(_ name: StaticString) -> Int? { tree.member(name, of: index) }

    private func object(at index: Int) -> JSONObject? {
        tree.nodes[index].kind == .object ? JSONObject(tree, at: index) : nil
    }

    private func elements(of list: Int) -> [JSONObject?] {
        var elements: [JSONObject?] = []
        var place = list + 1
        let end = Int(tree.nodes[list].next)
        while place < end {
            elements.append(object(at: place))
            place = Int(tree.nodes[place].next)
        }
        return elements
    }
}
