import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { turnlogErrorCodes } from "../../src/base/turnlog-error.ts";
import { failureKinds } from "../../src/engine/ports/provider-error.ts";

test("ERRORS.md describes every code, and no other", () => {
  const document = readFileSync(resolve(import.meta.dirname, "../../docs/ERRORS.md"), "utf8");
  const rows = [...document.matchAll(/^\| (`[^|]+`) \| [^|]{10,} \| [^|]{6,} \|$/gm)];
  const codes = rows.flatMap(([, cell = ""]) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code]) => code));
  expect(codes.toSorted()).toEqual(turnlogErrorCodes.toSorted());
});

test("ERRORS.md says what the engine does on every kind of failure", () => {
  const document = readFileSync(resolve(import.meta.dirname, "../../docs/ERRORS.md"), "utf8");
  const [, table = ""] = document.split("## Why a provider failed");
  const rows = [...table.matchAll(/^\| (`[^|]+`) \| [^|]{10,} \|$/gm)];
  const kinds = rows.flatMap(([, cell = ""]) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, kind]) => kind));
  expect(kinds.filter((kind) => kind !== "kind").toSorted()).toEqual(failureKinds.toSorted());
});
