import COpenSSL

/// Primes that follow from a seed: OpenSSL's own search draws from the system's randomness.
enum PrimeSearch {
    /// How many odd numbers from a starting point are looked at.
    private static let window = 4096
    /// RSA's public exponent, which must have no divisor in common with a prime less one.
    static let publicExponent: UInt = 65_537

    private static let smallPrimes: [UInt] = (3..<4000).filter { number in
        number % 2 == 1 && !stride(from: 3, to: 64, by: 2).contains { $0 < number && number % $0 == 0 }
    }

    /// A prime of so many bits, the two highest set, so that the product of two has twice as many.
    static func prime(bits: Int, _ random: inout SeededRandom) -> BigNumber {
        let arithmetic = Arithmetic()
        while true {
            var bytes = random.bytes(bits / 8)
            bytes[0] |= 0xC0
            bytes[bytes.count - 1] |= 1
            let start = BigNumber(bytes)
            for index in candidates(from: start) {
                let candidate = BigNumber(copying: start)
                BN_add_word(candidate.pointer, UInt(2 * index))
                if isPrime(candidate, arithmetic) { return candidate }
            }
        }
    }

    /// Which of the odd numbers from here on no small prime divides.
    private static func candidates(from start: borrowing BigNumber) -> [Int] {
        var isDivided = [Bool](repeating: false, count: window)
        for prime in smallPrimes {
            let rest = BN_mod_word(start.pointer, prime)
            var index = Int((prime - rest) * ((prime + 1) / 2) % prime)
            while index < window {
                isDivided[index] = true
                index += Int(prime)
            }
        }
        return isDivided.indices.filter { !isDivided[$0] }
    }

    /// Fermat's test to the base 2. What passes it at random and is no prime is rarer than a failing memory cell; a
    /// proof would take most of the time that the simulator needs to start.
    private static func isPrime(_ candidate: borrowing BigNumber, _ arithmetic: borrowing Arithmetic) -> Bool {
        guard BN_mod_word(candidate.pointer, publicExponent) != 1 else { return false }
        let exponent = BigNumber(copying: candidate)
        BN_sub_word(exponent.pointer, 1)
        let power = BigNumber()
        let two = BigNumber([2])
        demand(
            BN_mod_exp(power.pointer, two.pointer, exponent.pointer, candidate.pointer, arithmetic.context),
            "test a prime")
        return BN_is_one(power.pointer) == 1
    }
}

extension SeededRandom {
    /// So many random bytes.
    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            withUnsafeBytes(of: next().bigEndian) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes.prefix(count))
    }
}
