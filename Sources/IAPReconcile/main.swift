import Foundation

FileHandle.standardError.write(Data("iap-reconcile: no command yet\n".utf8))
exit(64)
