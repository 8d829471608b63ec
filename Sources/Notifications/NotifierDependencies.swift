public import Foundation

/// What notifying takes from outside, beside the network and the disk.
public struct NotifierDependencies: Sendable {
    public var now: @Sendable () -> Date
    /// Waits before another attempt.
    public var pause: @Sendable (Duration) async throws -> Void
    /// Returns a unique name.
    public var newID: @Sendable () -> String

    public init(
        now: @escaping @Sendable () -> Date, pause: @escaping @Sendable (Duration) async throws -> Void,
        newID: @escaping @Sendable () -> String
    ) {
        self.now = now
        self.pause = pause
        self.newID = newID
    }

    public static let real = NotifierDependencies(
        now: { Date() }, pause: { try await Task.sleep(for: $0) }, newID: { UUID().uuidString.lowercased() })
}
