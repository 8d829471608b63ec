/// OpenSSL fails here for want of memory or of an algorithm alone, and no receipt could be signed without: the
/// simulator ends.
func demanded<Value>(_ value: Value?, _ what: StaticString) -> Value {
    guard let value else { preconditionFailure("OpenSSL could not \(what)") }
    return value
}

/// As `demanded`, for functions that return 1 on success.
func demand(_ result: Int32, _ what: StaticString) {
    precondition(result == 1, "OpenSSL could not \(what)")
}
