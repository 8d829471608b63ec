-- A replay takes any moment for the present, and with it closes books and purges: only in a database that was made for
-- that.

CREATE TABLE iap.rehearsal (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    made_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE iap.rehearsal IS
    'One row where the database was made for replays, by iap-reconcile migrate --rehearsal: no customer''s purchase '
    'belongs there. Empty everywhere else.';
