-- Nothing of all this is for everyone: roles.sql says who may call what.
REVOKE ALL ON SCHEMA iap, finance, audit FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA iap, finance, audit FROM PUBLIC;
