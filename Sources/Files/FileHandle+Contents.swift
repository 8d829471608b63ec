public import Foundation
import Glibc

extension FileHandle {
    private static let pieceSize = 1 << 16

    /// Reads on to the end of the file, but no more than so many bytes.
    public func contents(upTo longest: Int = .max) throws(SystemFailure) -> Data {
        let descriptor = fileDescriptor
        var contents = Data()
        while contents.count < longest {
            var count = -1
            let most = min(Self.pieceSize, longest - contents.count)
            contents += [UInt8](unsafeUninitializedCapacity: most) { bytes, used in
                repeat { count = Glibc.read(descriptor, bytes.baseAddress, most) } while count < 0 && errno == EINTR
                used = max(0, count)
            }
            guard count >= 0 else { throw SystemFailure() }
            guard count > 0 else { break }
        }
        return contents
    }
}
