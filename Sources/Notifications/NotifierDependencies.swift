public import Foundation

/// What telling needs of the world beside the network and the disk.
public struct NotifierDependencies: Sendable {
    public var now: @Sendable () -> Date
    /// Waits before something is tried again.
    public var pause: @Sendable (Duration) async throws -> Void
    /// A name that nothing else has.
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
