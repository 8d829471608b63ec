public import Importing
public import Reconciliation

/// What is imported, and how.
public struct ImportOptions: Sendable {
    public var kind: ImportKind
    /// `-` is standard input.
    public var file: String
    /// `nil` to tell it by the file's name, or else by its first byte.
    public var format: ImportFormat?
    /// Whether to do everything and roll it back.
    public var isDryRun: Bool

    public init(kind: ImportKind, file: String, format: ImportFormat? = nil, isDryRun: Bool = false) {
        self.kind = kind
        self.file = file
        self.format = format
        self.isDryRun = isDryRun
    }
}
