import Foundation

/// The file that node_exporter's textfile collector reads: readable by all, and replaced at once, so that nobody reads
/// half of it.
struct MetricsFile {
    let path: String

    func write(_ news: RunNews) throws {
        let earlier = FileManager.default.contents(atPath: path).map {
            EarlierMetrics(String(decoding: $0, as: UTF8.self))
        }
        try replace(with: Metrics(news: news, earlier: earlier ?? EarlierMetrics()).text)
    }

    private func replace(with text: String) throws {
        // The collector reads only what ends in “.prom”.
        var template = Array("\(path).XXXXXX.tmp".utf8CString)
        let descriptor = mkstemps(&template, 4)
        guard descriptor >= 0 else { throw failure }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let temporary = template
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: Data(text.utf8))
            guard fchmod(descriptor, 0o644) == 0, rename(temporary, path) == 0 else { throw failure }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private var failure: NotificationError {
        NotificationError("\(path) can't be written: \(String(cString: strerror(errno)))")
    }
}
