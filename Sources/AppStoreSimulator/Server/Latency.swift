import Foundation

/// The duration of answers: a log-normal distribution, as of a service across the internet.
public struct Latency: Hashable, Sendable {
    /// Both in seconds.
    public let median: Double
    public let percentile99: Double

    /// - Throws: if the 99th percentile is less than the median, or one of them is negative.
    public init(median: Double, percentile99: Double) throws(SimulatorError) {
        guard median >= 0, percentile99 >= median else {
            throw .invalidOption("the latency's 99th percentile must not be below its median")
        }
        self.median = median
        self.percentile99 = percentile99
    }

    /// The delay for a random number.
    func delay(_ random: UInt64) -> Double {
        guard median > 0 else { return 0 }
        let deviation = log(percentile99 / median) / 2.326
        let radius = (-2 * log(1 - Mix.share(random))).squareRoot()
        return median * exp(deviation * radius * cos(2 * .pi * Mix.share(Mix.finish(random))))
    }
}
