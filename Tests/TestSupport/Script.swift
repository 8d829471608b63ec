/// Programs that a test writes for itself.
public enum Script {
    /// Writes a shell script that can be run. A child does it, for Linux refuses to run a file that somebody still has
    /// open to write, and a child that another test just starts would, for a moment, if this process had.
    public static func write(_ text: String, to path: String) async throws {
        try await ChildProcess.runSuccessfully(
            "/bin/sh", ["-c", #"cat > "$1" && chmod 700 "$1""#, "sh", path], input: "#!/bin/sh\n\(text)\n")
    }
}
