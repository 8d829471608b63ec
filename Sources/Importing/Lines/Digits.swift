extension UInt8 {
    /// Whether it is the code of one of the digits 0 to 9 in ASCII, as ids and times are written in.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
