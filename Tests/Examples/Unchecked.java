import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** Claims by examples/Claim.java a purchase whose goods an app's own code can't credit: APP ID USER. */
public final class Unchecked {
    public static void main(String[] given) throws SQLException {
        try (Connection real = DriverManager.getConnection(System.getenv("JDBC_URL"))) {
            Connection db = (Connection) Proxy.newProxyInstance(
                    Unchecked.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, values) -> {
                        if (method.getName().equals("prepareStatement") && ((String) values[0]).startsWith("INSERT")) {
                            throw new IllegalArgumentException("no such product");
                        }
                        try {
                            return method.invoke(real, values);
                        } catch (InvocationTargetException error) {
                            throw error.getCause();
                        }
                    });
            Claim.claimAndCredit(db, given[0], given[2], new Claim.Purchase(given[1], null, "gems.100", 1));
            System.exit(1);
        } catch (IllegalArgumentException expected) {
            // What it has done says the ledger.
        }
    }
}
