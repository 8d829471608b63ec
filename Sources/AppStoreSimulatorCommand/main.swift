import Foundation

FileHandle.standardError.write(Data("appstore-simulator: no command yet\n".utf8))
exit(64)
