import CCurl

/// libcurl's multi handle: it owns the connections and moves all transfers.
///
/// Only the transfer loop's thread uses it, except for `wake`, which libcurl allows from any thread. It is safe to
/// send, because the mailbox lets nobody wake a handle that the loop has released.
struct MultiHandle: Sendable {
    nonisolated(unsafe) let pointer: UnsafeMutableRawPointer

    /// Initialises libcurl once for the process; libcurl lets several threads ask for it.
    private static let globalInitialisation = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    init() throws(HTTPError) {
        guard Self.globalInitialisation == CURLE_OK, let pointer = curl_multi_init() else {
            throw .other(code: Int(CURLE_FAILED_INIT.rawValue), "libcurl can't be initialised")
        }
        self.pointer = pointer
    }

    /// Makes the running poll, or else the next one, return at once.
    func wake() {
        curl_multi_wakeup(pointer)
    }

    func release() {
        curl_multi_cleanup(pointer)
    }
}
