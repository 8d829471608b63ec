/// Hands a connection to another task, while the first one leaves it alone.
struct Handed<Value>: @unchecked Sendable {
    let value: Value
}
