# The rows of a ledger, read three times (pass=1, 2, 3): of receipts that are watched, those count as settled in which
# nothing was seen that is still owed. The next night settles them; a night that is done again has.
function value(name,   found) {
    found = match($0, "\"" name "\": (\"[^\"]*\"|[0-9]+)")
    return found ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) : ""
}
pass == 1 { if (/^iap\.white /) white[value("transaction_id")]; next }
pass == 2 { if (/^iap\.sightings / && value("transaction_id") in white) owed[value("receipt_id")]; next }
/^iap\.receipts / && !(value("receipt_id") in owed) { sub(/"state": "watched"/, "\"state\": \"settled\"") }
{ print }
