import Foundation

/// Why the last call of the system's failed, in its own words.
public struct SystemFailure: Error, Hashable, CustomStringConvertible {
    /// The system's number of it, such as `ENOENT`.
    public let number: Int32

    /// Takes `errno`, so it has to follow the call at once. Foundation may have made other calls since the one that
    /// failed.
    public init() {
        number = errno
    }

    /// - Parameter number: what a call gave that does not set `errno`.
    public init(number: Int32) {
        self.number = number
    }

    public var description: String { String(cString: strerror(number)) }
}
