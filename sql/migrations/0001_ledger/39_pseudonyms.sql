-- What stands in the place of a person's id once they are erased, and how it is put there in what people wrote.

CREATE FUNCTION iap.new_pseudonym() RETURNS text
LANGUAGE sql VOLATILE AS $$ SELECT 'erased-' || left(replace(gen_random_uuid()::text, '-', ''), 16) $$;
COMMENT ON FUNCTION iap.new_pseudonym IS 'What stands in the place of a person''s id once they are erased.';

CREATE FUNCTION iap.is_pseudonym(user_id text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT $1 ~ '^erased-[0-9a-f]{16}$' $$;
COMMENT ON FUNCTION iap.is_pseudonym IS 'Whether the person with this id was erased.';

CREATE FUNCTION iap.without_user(text text, user_id text, pseudonym text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_replace(
        text,
        -- Read the same whatever a database of old has for standard_conforming_strings. Chinese, Japanese and Korean
        -- leave no space around an id.
        E'((?<![[:alnum:]_-])|(?<=[\\u2E80-\\uFAFF])(?![\\u2E80-\\uFAFF]))'
            || regexp_replace(user_id, '([^[:alnum:]])', E'\\\\\\1', 'g')
            || E'((?![[:alnum:]_-])|(?<![\\u2E80-\\uFAFF])(?=[\\u2E80-\\uFAFF]))',
        pseudonym, 'g')
$$;
COMMENT ON FUNCTION iap.without_user(text, text, text) IS
    'What a person wrote, with a user id replaced wherever it stands as a word of its own, or where the script changes '
    'as in 用户anna说. An id in Chinese is replaced only where something else stands around it.';

CREATE FUNCTION iap.without_user(details jsonb, user_id text, pseudonym text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE jsonb_typeof(details)
        WHEN 'array' THEN (
            SELECT coalesce(
                jsonb_agg(
                    CASE WHEN element = to_jsonb(user_id) THEN to_jsonb(pseudonym)
                        ELSE iap.without_user(element, user_id, pseudonym) END
                    ORDER BY place),
                '[]')
            FROM jsonb_array_elements(details) WITH ORDINALITY AS item (element, place))
        WHEN 'object' THEN (
            SELECT coalesce(
                jsonb_object_agg(
                    key,
                    CASE
                        WHEN key = 'user_id' AND value = to_jsonb(user_id) THEN to_jsonb(pseudonym)
                        WHEN key = 'note' AND jsonb_typeof(value) = 'string'
                            THEN to_jsonb(iap.without_user(value #>> '{}', user_id, pseudonym))
                        WHEN jsonb_typeof(value) IN ('array', 'object')
                            THEN iap.without_user(value, user_id, pseudonym)
                        ELSE value
                    END),
                '{}')
            FROM jsonb_each(details))
        ELSE details
    END;
END
$$;
COMMENT ON FUNCTION iap.without_user(jsonb, text, text) IS
    'The details of an event or a move, or a case''s candidates, with a user id replaced. Lists hold user ids, or '
    'objects.';
