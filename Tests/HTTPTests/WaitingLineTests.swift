import Testing

@testable import HTTP

@Suite("The line of those who wait for a slot")
struct WaitingLineTests {
    @Test("Whoever came first is next")
    func order() {
        var line = WaitingLine<String>()
        line.append("first", identifier: 7)
        line.append("second", identifier: 3)
        #expect(line.next() == "first")
        line.append("third", identifier: 5)
        #expect(line.next() == "second")
        #expect(line.next() == "third")
        #expect(line.next() == nil)
    }

    @Test("Whoever leaves is passed over, and can't leave twice")
    func leaving() {
        var line = WaitingLine<String>()
        for identifier in UInt64(1)...3 { line.append("\(identifier)", identifier: identifier) }
        #expect(line.remove(1) == "1")
        #expect(line.remove(1) == nil)
        #expect(line.next() == "2")
        #expect(line.remove(2) == nil)
        #expect(line.next() == "3")
    }

    @Test("A long line keeps its order while it is served, joined and left")
    func longLine() {
        var line = WaitingLine<UInt64>()
        var served: [UInt64] = []
        for identifier in UInt64(1)...1_000 {
            line.append(identifier, identifier: identifier)
            if identifier.isMultiple(of: 5) { _ = line.remove(identifier) }
            if identifier.isMultiple(of: 2), let next = line.next() { served.append(next) }
        }
        while let next = line.next() { served.append(next) }
        #expect(served == (1...1_000).filter { !$0.isMultiple(of: 5) })
    }
}
