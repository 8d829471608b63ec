import Reconciliation

/// The rows in a page itself, for readers without JavaScript: for a customer with many cases a heading, and the first
/// of them.
struct PlainRows {
    /// How many cases have a row in a page, and how many of one customer.
    struct Limits {
        var cases = 200
        var ofCustomer = 5
    }

    private let caseRow: CaseRow
    private let limits: Limits
    private var customer: CustomerCases?
    private var ofCustomer = 0
    /// How many cases have a row so far.
    private(set) var shown = 0

    init(_ caseRow: CaseRow, limits: Limits) {
        self.caseRow = caseRow
        self.limits = limits
    }

    /// The row of the next case; empty if enough are shown.
    mutating func html(_ found: ReportedCase) -> HTML {
        if found.customer == nil || found.customer != customer { ofCustomer = 0 }
        customer = found.customer
        ofCustomer += 1
        guard shown < limits.cases, ofCustomer <= limits.ofCustomer else { return "" }
        shown += 1
        guard let customer else { return caseRow.html(found) }
        let heading: HTML = ofCustomer == 1 ? caseRow.heading(of: customer) : ""
        let left = ofCustomer == limits.ofCustomer ? customer.count - ofCustomer : 0
        return heading + caseRow.html(found, isMember: true) + (left > 0 ? caseRow.others(left, of: customer) : "")
    }
}
