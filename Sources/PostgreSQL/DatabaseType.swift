/// A PostgreSQL type by its object id; ids below 16384 are the same in every database.
public struct DatabaseType: Hashable, Sendable {
    let oid: UInt32

    @usableFromInline
    init(oid: UInt32) { self.oid = oid }

    static let bool = DatabaseType(oid: 16)
    static let bytea = DatabaseType(oid: 17)
    static let name = DatabaseType(oid: 19)
    static let int8 = DatabaseType(oid: 20)
    static let int2 = DatabaseType(oid: 21)
    static let int4 = DatabaseType(oid: 23)
    static let text = DatabaseType(oid: 25)
    static let oid = DatabaseType(oid: 26)
    static let json = DatabaseType(oid: 114)
    static let xml = DatabaseType(oid: 142)
    static let float4 = DatabaseType(oid: 700)
    static let float8 = DatabaseType(oid: 701)
    static let unknown = DatabaseType(oid: 705)
    static let boolArray = DatabaseType(oid: 1000)
    static let byteaArray = DatabaseType(oid: 1001)
    static let int2Array = DatabaseType(oid: 1005)
    static let int4Array = DatabaseType(oid: 1007)
    static let textArray = DatabaseType(oid: 1009)
    static let int8Array = DatabaseType(oid: 1016)
    static let float8Array = DatabaseType(oid: 1022)
    static let bpchar = DatabaseType(oid: 1042)
    static let varchar = DatabaseType(oid: 1043)
    static let timestamp = DatabaseType(oid: 1114)
    static let timestamptz = DatabaseType(oid: 1184)
    static let timestamptzArray = DatabaseType(oid: 1185)
    static let numeric = DatabaseType(oid: 1700)
    static let uuid = DatabaseType(oid: 2950)
    static let uuidArray = DatabaseType(oid: 2951)
    static let jsonb = DatabaseType(oid: 3802)

    /// Whether CREATE TYPE or an extension made it; of these types, enums and citext are sent as text.
    @usableFromInline var isUserDefined: Bool { oid >= 16384 }
}

extension DatabaseType: CustomStringConvertible {
    private static let names: [DatabaseType: String] = [
        .bool: "boolean", .bytea: "bytea", .name: "name", .int8: "bigint", .int2: "smallint", .int4: "integer",
        .text: "text", .oid: "oid", .json: "json", .xml: "xml", .float4: "real", .float8: "double precision",
        .unknown: "unknown", .boolArray: "boolean[]", .byteaArray: "bytea[]", .int2Array: "smallint[]",
        .int4Array: "integer[]", .textArray: "text[]", .int8Array: "bigint[]", .float8Array: "double precision[]",
        .bpchar: "character", .varchar: "character varying", .timestamp: "timestamp without time zone",
        .timestamptz: "timestamp with time zone", .timestamptzArray: "timestamp with time zone[]",
        .numeric: "numeric", .uuid: "uuid", .uuidArray: "uuid[]", .jsonb: "jsonb",
    ]

    public var description: String { Self.names[self] ?? "the type with oid \(oid)" }
}
