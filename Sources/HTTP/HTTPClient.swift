import CCurl
import Synchronization

/// Keeps many transfers in flight over pooled, kept-alive connections, from `async` code.
///
/// One thread drives libcurl's multi handle; HTTP/2 is spoken where a server offers it, and then one connection
/// carries many transfers. Only `http` and `https` URLs are allowed, redirects are not followed, nothing is compressed,
/// and TLS verification can't be switched off.
public final class HTTPClient: Sendable {
    private let configuration: Configuration
    private let mailbox: Mailbox
    private let nextIdentifier = Atomic<UInt64>(0)

    /// - Throws: `.tls` if the certificate authorities can't be read
    public init(_ configuration: Configuration = Configuration()) throws(HTTPError) {
        let authorities = try TrustedAuthorities(further: configuration.certificateAuthorities)
        self.configuration = configuration
        let multi = try MultiHandle()
        mailbox = Mailbox(multi)
        TransferLoop.start(multi, mailbox, configuration, authorities)
    }

    deinit {
        mailbox.close()
    }

    /// Sends a request once a slot is free, and returns the complete answer, whatever its status.
    ///
    /// A pooled connection that the server has closed meanwhile is replaced by a new one, unseen.
    public func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let target = try RequestTarget(request)
        let identifier = nextIdentifier.add(1, ordering: .relaxed).newValue
        let timeout = request.timeout ?? configuration.timeout
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                mailbox.submit(
                    Job(
                        identifier: identifier, request: request, target: target, timeout: timeout,
                        continuation: continuation))
                // Whoever cancels between the task's start and the submission finds nothing to cancel yet.
                if Task.isCancelled { mailbox.cancel(identifier) }
            }
        } onCancel: {
            mailbox.cancel(identifier)
        }
        return try result.get()
    }

    /// Ends the transfers in flight, and those waiting, with `.cancelled`, closes the connections, and refuses further
    /// requests. Also done when the last owner lets go, without waiting for it.
    public func close() async {
        mailbox.close()
        await mailbox.waitUntilEnded()
    }
}
