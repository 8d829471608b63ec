import Commands
import Foundation
import Job
import Reconciliation
import Reporting

extension CommandRunner {
    /// Prints the rows that the table `products` lacks, to be filled in and imported, and what was seen of each.
    func suggestProducts() async throws -> ExitCode {
        let products = try await SuggestedProducts(settings: configuration.settings).find()
        StandardOutput.write(ProductsText.rows(products))
        for product in products { console.log(LogEntry(.info, ProductsText.seen(product))) }
        return .done
    }
}

/// The output of `products`.
enum ProductsText {
    /// The rows in the form that `import products` takes.
    static func rows(_ products: [UnpricedProduct]) -> String {
        let header = ["bundle_id", "product_id", "type", "name", "list_price_milliunits", "currency"]
        let rows = products.map { product in
            [
                product.bundleID.text, product.productID.text, product.type?.rawValue ?? "",
                product.name ?? product.productID.text, "", "",
            ]
        }
        return ([header] + rows).map { CSV.line($0, isReadBack: true) }.joined()
    }

    static func seen(_ product: UnpricedProduct) -> String {
        let days = [product.first, product.last].map { $0.formatted(.iso8601.year().month().day()) }
        let count = product.transactions.counted("purchase")
        let when = days[0] == days[1] ? "on \(days[0])" : "from \(days[0]) to \(days[1])"
        return "\(product.productID) of \(product.bundleID): \(count) \(when)"
            + (product.type == nil ? "; its type is not known" : "")
    }
}
