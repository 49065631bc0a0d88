import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../../src/log/ports/store-errors.ts";
import { openEvents } from "../../../src/stores/open-events.ts";
import { isPostgresAddress, parsePostgresAddress } from "../../../src/stores/postgres/address.ts";

describe("an address of Postgres", () => {
  test("names hosts, database, schema and limits, and is shown without credentials", () => {
    const url =
      "postgresql://ann:p%40ss%3A@db1:6432,[::1],db2/app?schema=notes&sslmode=disable&deadlineMs=900&pollMs=20";
    expect(isPostgresAddress(url)).toBe(true);
    expect(parsePostgresAddress(url)).toEqual({
      hosts: [
        { host: "db1", port: 6432 },
        { host: "::1", port: 5432 },
        { host: "db2", port: 5432 },
      ],
      login: { user: "ann", password: "p@ss:", database: "app" },
      shown: "postgres://db1:6432,[::1]:5432,db2:5432/app?schema=notes",
      schema: "notes",
      tls: { mode: "disable" },
      deadlineMs: 900,
      pollMs: 20,
    });
    expect(parsePostgresAddress(url, 7).deadlineMs).toBe(7);
  });

  test.each([
    ["postgres://localhost/app", "disable"],
    ["postgres:///app", "disable"],
    ["postgres://%2Frun%2Fpostgresql/app", "disable"],
    ["postgres://db.example.com/app", "verify-full"],
    ["postgres://db.example.com/app?sslmode=require", "verify-full"],
    ["postgres://localhost,db.example.com/app", "verify-full"],
    ["postgres://db.example.com/app?sslmode=verify-ca&sslrootcert=ca.pem", "verify-ca"],
  ])("%s speaks TLS as %s", (url, mode) => {
    expect(parsePostgresAddress(url).tls.mode).toBe(mode);
  });

  test("takes credentials from its query, as other programs write them, and shows none", () => {
    const address = parsePostgresAddress("postgres://h/app?user=ann&password=s%26cret&sslmode=disable");
    expect(address.login).toEqual({ user: "ann", password: "s&cret", database: "app" });
    expect(address.shown).toBe("postgres://h:5432/app");
  });

  test.each([
    ["postgres://ann:secret/x@h/app", "percent-encoding"],
    // It could be read as the host ann, its port and a database.
    ["postgres://ann:1234/secret@h/app", "percent-encoding"],
    ["postgres://ann:secret:x@h/app", "percent-encoding"],
    ["postgres://ann@x:secret@h/app", "percent-encoding"],
    ["postgres://:secret@h/app", "percent-encoding"],
    ["postgres://ann:secret%@h/app", "a % of the password is written %25"],
    ["postgres://h:port/app", "host:port"],
    ["postgres://h:0/app", "host:port"],
    ["postgres://h:70000/app", "host:port"],
    ["postgres://h1,,h2/app", "host:port"],
    ["postgres://h/app?sslmod=require", "there is no setting sslmod; the settings are schema, sslmode"],
    ["postgres://h/app?secret", "there is no setting secret"],
    ["postgres://h/app?schema=a&schema=b", "schema is set twice"],
    ["postgres://h/app?schema=", "schema has no value"],
    ["postgres://h/app?schema=Notes", "lower-case letters"],
    ["postgres://h/app?schema=pg_toast", "lower-case letters"],
    ['postgres://h/app?schema=a"b', "lower-case letters"],
    ["postgres://h/app?sslmode=prefer", "sslmode is disable, require, verify-ca, verify-full, and not prefer"],
    ["postgres://h/app?sslmode=disable&sslrootcert=ca.pem", "need sslmode=verify-full"],
    ["postgres://h/app?deadlineMs=soon", "deadlineMs is a whole number"],
    ["postgres://h/app?pollMs=0", "pollMs is a whole number"],
    ["postgres://h/app?sslmode=require&channel_binding=require", "remove it"],
    ["postgres://h/app?options=-c%20x", "poolers refuse options"],
    ["postgres://h/app?pgbouncer=true", "behind poolers"],
  ])("%s is refused: %s", (url, reason) => {
    expect(() => parsePostgresAddress(url)).toThrow(StoreUnavailableError);
    expect(() => parsePostgresAddress(url)).toThrow(reason);
  });

  test("tells no password in a refusal", async () => {
    for (const url of [
      "postgres://ann:secret/x@h/app",
      "postgres://ann:secret%@h/app",
      "postgres://h:port/app?password=secret",
      "postgres://ann:secret@h/app?schema=X",
      "redis://h?password=secret",
      "redis://ann:secret@h",
    ]) {
      const refusal = await openEvents(url, {}).then(
        () => "opened",
        (error: unknown) => String(error),
      );
      expect(refusal).toMatch(/Error: /);
      expect(refusal).not.toContain("secret");
    }
  });
});
