-- What an entitlement says once an app's server, or its table, has said another word on it.

CREATE FUNCTION iap.is_said_for_upgrade(known iap.entitlements, until timestamptz, since timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM iap.transactions AS white
        WHERE iap.is_of_original(
                white.transaction_id, white.original_transaction_id, known.original_transaction_id)
            AND white.bundle_id = known.bundle_id AND white.place = 'white' AND white.purchased_at > since
            AND white.expires_at <= until AND white.expires_at > until - interval '1 day');
END
$$;
COMMENT ON FUNCTION iap.is_said_for_upgrade IS
    'Whether a word that says an end again is of what is owed and was bought since: that ends then, perhaps rounded up '
    'to the end of a day.';

CREATE FUNCTION iap.is_new_word(known iap.entitlements, until timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    before timestamptz := (SELECT max(said_at) FROM unnest(known.shorter) AS word WHERE word.until = is_new_word.until);
BEGIN
    RETURN before IS NULL OR iap.is_said_for_upgrade(known, until, before);
END
$$;
COMMENT ON FUNCTION iap.is_new_word IS
    'Whether a word that reaches less far than what is granted was not said before, or is said again for an upgrade.';

CREATE FUNCTION iap.with_shorter(known iap.entitlements, said iap.word) RETURNS iap.entitlements
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    known.shorter := said || ARRAY(
        SELECT word
        FROM unnest(known.shorter) AS word
        WHERE word.until <> said.until
            -- What ends later grants what it does not. The others are known still when they are said again.
            AND (word.until > said.until OR word.until > said.said_at));
    RETURN known;
END
$$;
COMMENT ON FUNCTION iap.with_shorter IS
    'An entitlement with a word that reaches less far, without those that are over and reach no further.';

CREATE FUNCTION iap.last_said(known iap.entitlements) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(($1).granted_at, (SELECT max(said_at) FROM unnest(($1).shorter))) $$;
COMMENT ON FUNCTION iap.last_said IS 'When the last word was said on an entitlement that told something new.';

CREATE FUNCTION iap.said_again(known iap.entitlements, said iap.entitlements) RETURNS iap.entitlements
LANGUAGE plpgsql STABLE AS $$
DECLARE
    word iap.entitlements := known;
BEGIN
    IF said.entitled_until > known.entitled_until THEN
        word := said;
        word.first_granted_at := known.first_granted_at;
        word.shorter := known.shorter;
    ELSIF said.entitled_until <= said.granted_at THEN
        -- Nothing new; a period that is delivered late ends before what is granted already.
        NULL;
    ELSIF said.entitled_until < known.entitled_until THEN
        -- Perhaps for what was bought since and ends sooner; or it took the place of what was taken back.
        IF known.revoked_at IS NOT NULL OR iap.is_new_word(known, said.entitled_until) THEN
            word := iap.with_shorter(known, ROW(said.entitled_until, said.granted_at)::iap.word);
            word.revoked_at := NULL;
        END IF;
    ELSIF said.entitled_until = 'infinity' OR known.revoked_at IS NOT NULL
        OR iap.is_said_for_upgrade(known, said.entitled_until, known.granted_at)
    THEN
        word.granted_at := said.granted_at;
        word.revoked_at := NULL;
    END IF;
    -- It may have moved to another account. Who was erased does not come back by a word that grants no more.
    IF known.entitled_until = said.entitled_until AND NOT iap.is_pseudonym(known.user_id) THEN
        word.user_id := said.user_id;
    END IF;
    RETURN word;
END
$$;
COMMENT ON FUNCTION iap.said_again IS
    'What is granted once an app''s server has said another word on it: until the later end of both, and as the later '
    'word has it where that says something new.';

CREATE FUNCTION iap.keep_entitlement(was iap.entitlements, became iap.entitlements) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE iap.entitlements
    SET user_id = became.user_id, entitled_until = became.entitled_until, granted_at = became.granted_at,
        revoked_at = became.revoked_at, shorter = became.shorter,
        -- A seal that does not fit stays, for its row was changed by hand.
        seal = CASE WHEN was.seal = audit.seal(was) THEN audit.seal(became) ELSE was.seal END
    WHERE original_transaction_id = was.original_transaction_id AND bundle_id = was.bundle_id;
END
$$;
COMMENT ON FUNCTION iap.keep_entitlement IS 'Writes an entitlement that its caller has locked.';
