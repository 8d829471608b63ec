import Foundation
import TestSupport
import Testing

@testable import IAPReconcile

/// Every command line that a document shows is one that the program understands.
@Suite struct DocumentedCommandsTests {
    private static let documents: [String] = {
        let root = PackageRoot.folder.path(percentEncoded: false)
        let docs = (try? FileManager.default.contentsOfDirectory(atPath: root + "/docs")) ?? []
        return ["README.md", "README.zh.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
    }()

    @Test(arguments: documents)
    func eachCommandOfADocumentIsUnderstood(document: String) throws {
        let text = try String(contentsOf: PackageRoot.folder.appending(path: document), encoding: .utf8)
        // Set as code on a line of its own, as root or as a user; or within a sentence.
        let lines = text.matches(of: #/(?m)^ *(?:runuser [\w -]+ -- )?iap-reconcile (.+)$/#).map { String($0.1) }
        let spans = text.matches(of: #/`iap-reconcile ([^`\n]+)`/#).map { String($0.1) }
        for command in lines + spans {
            let words = Self.words(of: command)
            do throws(UsageError) {
                _ = try Invocation(arguments: words)
            } catch {
                // A sentence may name a command without all that it needs.
                let isNamed = spans.contains(command) && CommandTable.commands.contains { [$0.name] == words }
                #expect(isNamed, "\(document): iap-reconcile \(command): \(error.description)")
            }
        }
    }

    @Test func manyAreShown() throws {
        #expect(Self.documents.count > 12)
        let all = try Self.documents.map {
            try String(contentsOf: PackageRoot.folder.appending(path: $0), encoding: .utf8)
        }.joined()
        #expect(all.matches(of: #/(?m)^ *(?:runuser [\w -]+ -- )?iap-reconcile /#).count > 30)
    }

    /// As a shell takes a line apart, as far as the documents need it: quotes, comments, and output sent elsewhere.
    private static func words(of line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in line {
            switch character {
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case " " where !isQuoted:
                word.map { words.append($0) }
                word = nil
            case "#" where !isQuoted && word == nil, ">" where !isQuoted && word == nil: return words
            default: word = (word ?? "") + String(character)
            }
        }
        return words + [word].compactMap(\.self)
    }
}
