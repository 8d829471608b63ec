import Dispatch
import Synchronization

/// Spreads work that signs much over the machine's processors.
package enum Parallel {
    /// The results in the order of the elements.
    package static func map<Elements: RandomAccessCollection & Sendable, Result: Sendable>(
        _ elements: Elements, _ transform: @Sendable (Elements.Element) -> Result
    ) -> [Result] where Elements.Index: Sendable {
        let results = Mutex([Result?](repeating: nil, count: elements.count))
        DispatchQueue.concurrentPerform(iterations: elements.count) { number in
            let result = transform(elements[elements.index(elements.startIndex, offsetBy: number)])
            results.withLock { $0[number] = result }
        }
        return results.withLock { $0.compactMap(\.self) }
    }
}
