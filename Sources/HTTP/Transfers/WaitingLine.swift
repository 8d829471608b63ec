/// Jobs that wait for a free slot, in their order. Leaving it early takes no longer than being served.
struct WaitingLine {
    private var order: [UInt64] = []
    private var served = 0
    private var jobs: [UInt64: Job] = [:]

    mutating func append(_ job: Job) {
        order.append(job.identifier)
        jobs[job.identifier] = job
    }

    mutating func remove(_ identifier: UInt64) -> Job? {
        jobs.removeValue(forKey: identifier)
    }

    /// The longest waiting of those still here.
    mutating func next() -> Job? {
        defer { forgetServed() }
        while served < order.count {
            let identifier = order[served]
            served += 1
            if let job = jobs.removeValue(forKey: identifier) { return job }
        }
        return nil
    }

    /// Half of the line at a time, so that moving the rest up costs next to nothing for each.
    private mutating func forgetServed() {
        guard served >= 64, served * 2 >= order.count else { return }
        order.removeFirst(served)
        served = 0
    }
}
