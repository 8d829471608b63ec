import Foundation
public import Job

/// How the job, and the commands of whoever runs it, log in to PostgreSQL.
public protocol LoginStep: SetupStep {
    var owner: OwnerAccess { get }
    /// The user of the system that they run as.
    var user: String { get }
    /// The connection string of a role, as the configuration is to have it. It holds no password: libpq finds
    /// one that is needed in `serviceFile`.
    func conninfo(of role: LoginRole) -> String
    /// The file of services that the connection strings name; `nil` if they name none.
    var serviceFile: String? { get }
}

extension LoginStep {
    /// Why the first role that can't log in can't; `nil` if all can, or if nobody runs as the user yet.
    func refusal() async throws -> String? {
        if let serviceFile { LibpqEnvironment.take(serviceFile: serviceFile) }
        guard let user = SystemUser(named: user) else { return "there is no user \(user)" }
        for role in LoginRole.allCases {
            if let refusal = try await OwnerAccess.refusal(of: conninfo(of: role), as: user) { return refusal }
        }
        return nil
    }
}

/// What libpq takes from this process' environment.
public enum LibpqEnvironment {
    /// Names the file in which libpq looks for services.
    public static func take(serviceFile path: String) { setenv("PGSERVICEFILE", path, 1) }
}
