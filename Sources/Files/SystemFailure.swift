import Foundation

/// Why the last call of the system's failed, in its own words.
public struct SystemFailure: Error, Hashable, CustomStringConvertible {
    private let number: Int32

    public init() {
        number = errno
    }

    public var description: String { String(cString: strerror(number)) }
}
