/// A line of elements that wait for a free slot, in order. Leaving it early takes no longer than being served.
package struct WaitingLine<Element> {
    private var order: [UInt64] = []
    private var served = 0
    private var elements: [UInt64: Element] = [:]

    package init() {}

    package mutating func append(_ element: Element, identifier: UInt64) {
        order.append(identifier)
        elements[identifier] = element
    }

    package mutating func remove(_ identifier: UInt64) -> Element? {
        elements.removeValue(forKey: identifier)
    }

    /// Takes the element that has waited longest.
    package mutating func next() -> Element? {
        defer { forgetServed() }
        while served < order.count {
            let identifier = order[served]
            served += 1
            if let element = elements.removeValue(forKey: identifier) { return element }
        }
        return nil
    }

    /// Drops what was served, half of the line at a time, so that moving the rest up costs next to nothing for each.
    private mutating func forgetServed() {
        guard served >= 64, served * 2 >= order.count else { return }
        order.removeFirst(served)
        served = 0
    }
}
