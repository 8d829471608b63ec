import CCurl

/// libcurl's multi handle: it owns the connections and moves all transfers.
///
/// Only the transfer loop's thread uses it, but for `wake`, which libcurl allows from any thread. The mailbox lets no
/// one wake a handle that the loop has released; that makes it safe to send.
struct MultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    /// Once for the process; libcurl lets several threads ask for it.
    private static let globalInitialisation = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    init() throws(HTTPError) {
        guard Self.globalInitialisation == CURLE_OK, let pointer = curl_multi_init() else {
            throw .other(code: Int(CURLE_FAILED_INIT.rawValue), "libcurl can't be initialised")
        }
        self.pointer = pointer
    }

    /// Makes the poll that is running, or else the next, return at once.
    func wake() {
        curl_multi_wakeup(pointer)
    }

    func release() {
        curl_multi_cleanup(pointer)
    }
}
