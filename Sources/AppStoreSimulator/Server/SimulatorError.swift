/// An error of the simulator itself.
public enum SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    case invalidOption(String)
    /// The port could not be bound.
    case cannotListen(port: UInt16, https: Bool)
    /// A file could not be read or written.
    case file(path: String, problem: String)
    /// PostgreSQL refused; the text holds no value of a statement.
    case database(String)

    public var description: String {
        switch self {
        case .invalidOption(let text): text
        case .cannotListen(let port, let https):
            "can't listen on 127.0.0.1 port \(port)\(https ? " for HTTPS" : ""): is it in use? Port 0 takes a free one"
        case .file(let path, let problem): "\(path): \(problem)"
        case .database(let text): text
        }
    }
}
