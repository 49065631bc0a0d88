import { randomUUID } from "node:crypto";
import { constants } from "node:os";
import { expect, test } from "vitest";
import { NotFoundError, shellFailureOf, UsageError } from "../../../src/apps/cli/exit-codes.ts";
import { TurnlogError } from "../../../src/base/turnlog-error.ts";
import { UnreadableEventError } from "../../../src/domain/events/event.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { RunFailedError } from "../../../src/engine/session/errors.ts";
import {
  StoreCorruptedError,
  StoreNotFoundError,
  StoreTooNewError,
  StoreUnavailableError,
} from "../../../src/log/ports/store-errors.ts";
import { ConversationDamagedError } from "../../../src/projections/damage.ts";

const down = new ProviderError("cannot reach it", { kind: "connection", outcome: "rejected" });
const refused = new ProviderError("no such model", { kind: "invalid-request", outcome: "rejected" });

/** Node's error for a file that it cannot open. */
const fileError = (code: "ENOENT" | "EACCES", path: string): Error =>
  Object.assign(new Error(`${code}: as Node says it, open '${path}'`), { code, path, errno: -constants.errno[code] });

test.each([
  [new UsageError("what?"), 2, "what?"],
  [new TurnlogError("unknown-store", "no store there"), 2, "no store there"],
  [new NotFoundError("not here"), 3, "not here"],
  [new StoreNotFoundError("no store"), 3, "no store: `turnlog demo` creates one, --store names another"],
  [new StoreCorruptedError("bad"), 4, "bad"],
  [
    new ConversationDamagedError("bad", 7),
    4,
    "at revision 7: bad: `turnlog verify` says where it begins, `turnlog skip` continues without it",
  ],
  [new UnreadableEventError("cannot"), 4, "cannot: a newer turnlog may have written it: update"],
  [new TurnlogError("unknown-codec", "cannot"), 4, "cannot"],
  [new StoreUnavailableError("locked"), 6, "locked"],
  [new StoreTooNewError("update"), 6, "update"],
  [
    Object.assign(new Error("listen"), { code: "EADDRINUSE" }),
    6,
    "listen: choose another --port, or stop the program that listens there",
  ],
  [Object.assign(new Error("open x"), { code: "ENOENT" }), 3, "open x: check the path"],
  [fileError("ENOENT", "none/x.jsonl"), 3, "none/x.jsonl: no such file or directory: check the path"],
  [
    fileError("EACCES", `x.db.${randomUUID()}.tmp`),
    6,
    "x.db: permission denied: check what this user may do with the file and its folder",
  ],
  [down, 6, "cannot reach it: check that the server runs and the address is right"],
  [refused, 1, "no such model"],
  [Object.assign(new Error("odd"), { code: "something-else" }), 1, "odd"],
  [new Error("x is undefined"), 1, "x is undefined: this looks like a bug of turnlog; --debug shows where"],
  ["a text", 1, "a text"],
])("%s ends with %i", (error, exitCode, message) => {
  expect(shellFailureOf(error)).toEqual({ exitCode, message });
});

test("a run that failed because no provider answered is of the environment, any other failure of a run is not", () => {
  expect(shellFailureOf(new RunFailedError("run_1", "connection", down)).exitCode).toBe(6);
  expect(shellFailureOf(new RunFailedError("run_1", "invalid-request", refused)).exitCode).toBe(1);
});

test("a message is one line, and nothing in it is obeyed by a terminal", () => {
  expect(shellFailureOf(new UsageError("one\ntwo\u001b[31m\tthree ")).message).toBe("one two [31m three");
});
