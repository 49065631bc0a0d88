import { raised } from "./failure.ts";

/** The schema version of this turnlog. A store with a greater number was migrated by a newer one. */
export const schemaVersion = 1;

/** The class of an SQLSTATE of turnlog's own, as plpgsql names it. */
const raise = (code: string, message: string): string => `RAISE EXCEPTION '${message}' USING ERRCODE = '${code}'`;

/**
 * The object id of the schema, as the first key of an advisory lock: two stores in one database never share a lock. An id is unsigned, a
 * key is not.
 */
const lockClass = (schema: string): string =>
  `(SELECT (CASE WHEN oid::bigint > 2147483647 THEN oid::bigint - 4294967296 ELSE oid::bigint END)::int
    FROM pg_catalog.pg_namespace WHERE nspname = '${schema}')`;

/**
 * Tables and functions of a store. The schema's name is checked before, and is part of the functions, so that they depend on no search
 * path.
 *
 * Columns are text, because jsonb reorders members, drops some and rejects others. Names sort by their bytes. A stream's row leaves room
 * in its page, so that moving a head touches no index.
 */
export const tables = (schema: string): readonly string[] => [
  `CREATE TABLE ${schema}.meta (
    name text PRIMARY KEY,
    value text NOT NULL
  )`,
  `CREATE TABLE ${schema}.streams (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    revision bigint NOT NULL,
    digest text NOT NULL
  ) WITH (fillfactor = 80)`,
  // A fresh sequence shows its first value before and after drawing it, so the first one is drawn here.
  `CREATE SEQUENCE ${schema}.positions AS bigint MINVALUE 0 START 0 CACHE 1`,
  `SELECT pg_catalog.nextval('${schema}.positions')`,
  `CREATE TABLE ${schema}.events (
    position bigint PRIMARY KEY DEFAULT pg_catalog.nextval('${schema}.positions'),
    stream bigint NOT NULL,
    revision bigint NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    version bigint NOT NULL,
    at text NOT NULL,
    actor text NOT NULL,
    run_id text,
    frame text,
    causation_id text,
    tenant text,
    key_id text,
    nonce text,
    encoding text NOT NULL,
    data_digest text NOT NULL,
    digest text NOT NULL,
    data text NOT NULL,
    UNIQUE (stream, revision)
  )`,
  `CREATE TABLE ${schema}.keys (
    stream text COLLATE "C" PRIMARY KEY,
    key text NOT NULL
  )`,
  `CREATE TABLE ${schema}.leases (
    id text COLLATE "C" PRIMARY KEY,
    renewals bigint NOT NULL
  )`,
  `CREATE TABLE ${schema}.snapshots (
    stream text COLLATE "C" NOT NULL,
    projection text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    revision bigint NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (stream, projection, version, revision)
  )`,
  `CREATE TABLE ${schema}.view_builds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    projection text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    is_published boolean NOT NULL DEFAULT false,
    saves bigint NOT NULL DEFAULT 0,
    events bigint NOT NULL DEFAULT 0,
    checkpoint text NOT NULL DEFAULT 'null'
  )`,
  `CREATE TABLE ${schema}.view_rows (
    build bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    view text NOT NULL,
    position text NOT NULL,
    revision bigint NOT NULL,
    event_id text NOT NULL,
    quarantine text,
    PRIMARY KEY (build, key)
  )`,
  `CREATE INDEX view_rows_degraded ON ${schema}.view_rows (build, key) WHERE quarantine IS NOT NULL`,
  `CREATE TABLE ${schema}.view_places (
    build bigint NOT NULL,
    list text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (build, list, at, key)
  )`,
  `CREATE INDEX view_places_of_row ON ${schema}.view_places (build, key)`,
];

/** Parameters of `append_1` for the appends of a group, one array each. */
const appendParameters = [
  ...["streams text[]", "expected_revisions bigint[]", "expected_digests text[]"],
  ...["revisions bigint[]", "digests text[]", "naming_keys text[]"],
];

/** Parameters of `append_1` for the events of a group, in the order in which they get positions. */
const eventParameters = [
  ...["e_append int[]", "e_revision bigint[]", "e_id text[]", "e_type text[]", "e_version bigint[]", "e_at text[]"],
  ...["e_actor text[]", "e_run_id text[]", "e_frame text[]", "e_causation_id text[]", "e_tenant text[]"],
  ...["e_key_id text[]", "e_nonce text[]", "e_encoding text[]", "e_data_digest text[]", "e_digest text[]"],
  "e_data text[]",
];

/** How many parameters `append_1` has after the store's id and the position that the caller has seen. */
export const appendArrays = appendParameters.length + eventParameters.length;

/** Names without types, of the parameters above. */
const names = (parameters: readonly string[]): readonly string[] => parameters.map((each) => each.split(" ")[0] ?? "");

/** The columns of an event that the caller gives, without its stream. */
const columns = names(eventParameters)
  .slice(1)
  .map((name) => name.slice("e_".length));

/**
 * Functions of a store, with the version in their names, so that processes of an older turnlog continue after a migration.
 *
 * `append_1` writes a group of appends in one round trip, each with its own result, in the transaction of the call. Heads are moved in the
 * order of the streams' names, so that groups cannot deadlock. Before it draws positions it takes a shared lock whose key is the last
 * position drawn so far. It is never taken exclusively, so no writer waits for it. It is released after the commit is visible.
 *
 * `horizon_1` returns the position up to which nothing can still appear: what has been drawn, or less if somebody who began at a lower
 * position has not ended. It reads the sequence first. A position that was drawn by then and is not visible yet belongs to a lock that is
 * still held. The keys of locks have 32 bits, so the difference to the last position decides. Events up to the horizon are read in a later
 * statement, such as the one that looks for the newest of them.
 */
export const functions = (schema: string): readonly string[] => [
  `CREATE FUNCTION ${schema}.check_1(store_id text, seen bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  reached bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM ${schema}.meta WHERE name = 'storeId' AND value = store_id) THEN
    ${raise(raised.otherStore, "another store")};
  END IF;
  SELECT last_value INTO reached FROM ${schema}.positions;
  IF reached < seen THEN
    ${raise(raised.setBack, "set back")};
  END IF;
  RETURN reached;
END $$`,
  `CREATE FUNCTION ${schema}.append_1(store_id text, seen bigint, ${[...appendParameters, ...eventParameters].join(", ")})
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  numbers bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(streams)]);
  moved bigint;
  this record;
  began bigint;
  positions text;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    ${raise(raised.isolation, "not read committed")};
  END IF;
  PERFORM ${schema}.check_1(store_id, seen);
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  -- Waits for heads come before the shared lock, so that they hold up no follower.
  PERFORM set_config('lock_timeout', '5s', true);
  FOR this IN SELECT * FROM unnest(${names(appendParameters).join(", ")}) WITH ORDINALITY
    AS a(stream, expected_revision, expected_digest, revision, digest, naming_key, n) ORDER BY a.stream COLLATE "C", n
  LOOP
    moved := NULL;
    IF this.expected_revision IS NULL THEN
      INSERT INTO ${schema}.streams (name, revision, digest) VALUES (this.stream, this.revision, this.digest)
      ON CONFLICT (name) DO NOTHING RETURNING number INTO moved;
    ELSE
      UPDATE ${schema}.streams SET revision = this.revision, digest = this.digest
      WHERE name = this.stream AND revision = this.expected_revision AND digest = this.expected_digest
      RETURNING number INTO moved;
    END IF;
    numbers[this.n] := moved;
    IF moved IS NOT NULL AND this.naming_key IS NOT NULL THEN
      INSERT INTO ${schema}.keys (stream, key) VALUES (this.stream, this.naming_key)
      ON CONFLICT (stream) DO UPDATE SET key = excluded.key;
    END IF;
  END LOOP;
  SELECT last_value INTO began FROM ${schema}.positions;
  PERFORM pg_advisory_xact_lock_shared(${lockClass(schema)},
    (CASE WHEN began & 4294967295 > 2147483647 THEN (began & 4294967295) - 4294967296 ELSE began & 4294967295 END)::int);
  WITH written AS (
    INSERT INTO ${schema}.events (stream, ${columns.join(", ")})
    SELECT numbers[e.append], ${columns.map((name) => `e.${name}`).join(", ")}
    FROM unnest(${names(eventParameters).join(", ")}) WITH ORDINALITY AS e(append, ${columns.join(", ")}, n)
    WHERE numbers[e.append] IS NOT NULL ORDER BY e.n
    RETURNING stream, revision, position
  )
  SELECT string_agg(coalesce(written.position::text, ''), ',' ORDER BY a.n) INTO positions
  FROM unnest(numbers, revisions) WITH ORDINALITY AS a(number, revision, n)
  LEFT JOIN written ON written.stream = a.number AND written.revision = a.revision;
  RETURN positions;
END $$`,
  `CREATE FUNCTION ${schema}.horizon_1(store_id text, seen bigint, OUT horizon text, OUT reached text, OUT newest text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  drawn bigint;
  behind bigint;
BEGIN
  drawn := ${schema}.check_1(store_id, seen);
  SELECT max(distance) INTO behind FROM (
    SELECT ((drawn & 4294967295) - objid::bigint + 4294967296) % 4294967296 AS distance FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid = (SELECT oid FROM pg_namespace WHERE nspname = '${schema}')
  ) AS held WHERE distance < 2147483648;
  horizon := (drawn - coalesce(behind, 0))::text;
  reached := drawn::text;
  SELECT coalesce(max(position), 0)::text INTO newest FROM ${schema}.events WHERE position <= drawn - coalesce(behind, 0);
END $$`,
];

/** Takes from every user what each new function grants. */
export const revokes = (schema: string): readonly string[] => [
  `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${schema} FROM PUBLIC`,
];
