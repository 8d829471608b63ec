import Files
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
        do {
            let file = try TemporaryFile("\(path).", ending: ".tmp")
            do {
                try file.handle.write(contentsOf: Data(text.utf8))
                try file.replace(path, mode: 0o644)
            } catch {
                file.remove()
                throw error
            }
        } catch let failure as SystemFailure {
            throw NotificationError("\(path) can't be written: \(failure)")
        }
    }
}
