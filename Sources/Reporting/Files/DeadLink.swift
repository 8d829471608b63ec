import Foundation

/// A link on the way to a folder that leads to nothing, for instance to a disk that is not mounted: the folder is not
/// there, and can't be made either.
public struct DeadLink: Sendable, CustomStringConvertible {
    private let link: String
    private let target: String

    /// `nil` if there is none.
    public init?(onTheWayTo folder: String) {
        var path = folder
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        while !path.isEmpty, path != "/", !FileManager.default.fileExists(atPath: path) {
            if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
                self.link = path
                self.target = target
                return
            }
            path = (path as NSString).deletingLastPathComponent
        }
        return nil
    }

    public var description: String { "\(link) is a link to \(target), which is not there" }
}
