import CCurl
import Foundation

/// Moves all transfers of a client, on a thread of its own; no other thread ever sees any of its state.
final class TransferLoop {
    private let multi: MultiHandle
    private let mailbox: Mailbox
    private let settings: SlotSettings
    private let maximumTransfers: Int
    private var waiting = WaitingLine<Job>()
    /// The busy slots by libcurl's handle, which is how it names a transfer.
    private var busy: [UnsafeMutableRawPointer: Slot] = [:]
    private var handles: [UInt64: UnsafeMutableRawPointer] = [:]
    private var idle: [Slot] = []

    /// In milliseconds. The mailbox and libcurl's own timers end a poll as soon as there is something to do.
    private static let longestPoll: Int32 = 1_000

    static func start(
        _ multi: MultiHandle, _ mailbox: Mailbox, _ configuration: HTTPClient.Configuration,
        _ authorities: TrustedAuthorities
    ) {
        let thread = Thread {
            blockSignals()
            TransferLoop(multi, mailbox, configuration, authorities).run()
            mailbox.end()
            multi.release()
        }
        thread.name = "HTTP transfers"
        thread.start()
    }

    /// Blocks all signals on this thread: other threads wait for them, and writing to a closed connection must not end
    /// the process.
    private static func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }

    private init(
        _ multi: MultiHandle, _ mailbox: Mailbox, _ configuration: HTTPClient.Configuration,
        _ authorities: TrustedAuthorities
    ) {
        self.multi = multi
        self.mailbox = mailbox
        maximumTransfers = max(1, configuration.maximumTransfers)
        settings = SlotSettings(configuration, authorities)
        curl_multi_setopt_long(multi.pointer, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        curl_multi_setopt_long(multi.pointer, CURLMOPT_MAXCONNECTS, maximumTransfers)
    }

    private func run() {
        while true {
            let letters = mailbox.collect()
            for job in letters.submitted { waiting.append(job, identifier: job.identifier) }
            if letters.isClosing { return endAll() }
            for identifier in letters.cancelled { cancel(identifier) }
            while busy.count < maximumTransfers, let job = waiting.next() { start(job) }
            var running: Int32 = 0
            curl_multi_perform(multi.pointer, &running)
            // If a transfer ended, its slot is filled before waiting for anything.
            if !endFinished() { curl_multi_poll(multi.pointer, nil, 0, Self.longestPoll, nil) }
        }
    }

    private func start(_ job: Job) {
        do throws(HTTPError) {
            let slot = if let free = idle.popLast() { free } else { try Slot(settings) }
            try slot.begin(job)
            try add(slot)
            busy[slot.handle] = slot
            handles[job.identifier] = slot.handle
        } catch {
            job.end(.failure(error))
        }
    }

    private func add(_ slot: Slot) throws(HTTPError) {
        let code = curl_multi_add_handle(multi.pointer, slot.handle)
        guard code == CURLM_OK else {
            throw .other(code: Int(CURLE_FAILED_INIT.rawValue), String(cString: curl_multi_strerror(code)))
        }
    }

    /// Ends the transfers that are finished. Returns whether there was any.
    private func endFinished() -> Bool {
        var left: Int32 = 0
        var anyEnded = false
        while let message = curl_multi_info_read(multi.pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
            // The message is gone once its handle is removed.
            let code = message.pointee.data.result
            end(handle) { $0.result(code) }
            anyEnded = true
        }
        return anyEnded
    }

    private func cancel(_ identifier: UInt64) {
        if let job = waiting.remove(identifier) { job.end(.failure(.cancelled)) }
        if let handle = handles[identifier] { end(handle) { _ in .failure(.cancelled) } }
    }

    private func end(_ handle: UnsafeMutableRawPointer, _ result: (Slot) -> Result<HTTPResponse, HTTPError>) {
        guard let slot = busy.removeValue(forKey: handle) else { return }
        let result = result(slot)
        curl_multi_remove_handle(multi.pointer, handle)
        if let job = slot.finish() {
            handles[job.identifier] = nil
            job.end(result)
        }
        idle.append(slot)
    }

    private func endAll() {
        while let job = waiting.next() { job.end(.failure(.cancelled)) }
        for handle in Array(busy.keys) { end(handle) { _ in .failure(.cancelled) } }
    }
}
