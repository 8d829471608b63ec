import Testing

@testable import PostgreSQL

@Suite struct ConnectionStringTests {
    @Test(arguments: [
        ("shop", ["dbname": "shop"]), ("", ["dbname": ""]),
        ("host=/run dbname=shop", ["host": "/run", "dbname": "shop"]),
        (
            "postgresql://eve@db.example.com:5433/shop",
            [
                "user": "eve", "host": "db.example.com", "port": "5433", "dbname": "shop",
            ]
        ),
        (
            "postgresql://eve:a%40b%2Fc@db/shop?options=x@y",
            ["user": "eve", "password": "a@b/c", "host": "db", "dbname": "shop", "options": "x@y"]
        ),
        ("dbname='my shop' password='it\\'s'", ["dbname": "my shop", "password": "it's"]),
    ])
    func itsPartsAreThoseThatLibpqReads(text: String, parts: [String: String]) throws {
        #expect(try ConnectionString(text).parts == parts)
    }

    /// Values with spaces, quotes and backslashes, and none at all.
    @Test(arguments: ["plain", "two words", "it's", "C:\\x", "", " ", "=", "a=b", "\u{9}"])
    func whatItWritesItReadsAgain(value: String) throws {
        var string = try ConnectionString("host=/run")
        string.parts["dbname"] = value
        string.parts["options"] = value
        #expect(try ConnectionString(string.text) == string)
    }

    @Test(arguments: [
        "host=/run password", "postgresql://u:secret@[", "dbname='x password=secret",
        // libpq takes these for a host “secret@db” and a port “secret”.
        "postgresql://u:my@secret@db/shop", "postgres://u:secret/my@db/shop",
    ])
    func whatCantBeReadIsNotQuoted(text: String) throws {
        let error = #expect(throws: PostgreSQLError.self) { try ConnectionString(text) }
        #expect(error?.code == .settings && error?.debugDescription.contains("secret") == false)
    }
}
