import { expect, test } from "vitest";
import { blockIdSchema } from "../../../src/domain/ids.ts";
import { Turn } from "../../../src/domain/turn.ts";
import {
  changeEntries,
  type DrawnEdit,
  drawEdit,
  type EditChoice,
  editTurn,
} from "../../../src/testing/rehearsal/edits.ts";
import { blockOf, type Entry, type MadeEntry, messageOf } from "../../../src/testing/rehearsal/entries.ts";

const entries: readonly MadeEntry[] = [
  messageOf("system", "policy"),
  messageOf("user", "question"),
  { kind: "call", callId: "c", name: "look", arguments: "{}" },
  { kind: "result", callId: "c", output: "found" },
  messageOf("assistant", "answer"),
];

test("draws from the seed, the conversation and the request number, and from nothing else", () => {
  const drawn = drawAll("all", { seed: "1" });
  expect(drawAll("all", { seed: "1" })).toEqual(drawn);
  expect(drawAll("all", { seed: "2" })).not.toEqual(drawn);
  expect(drawAll("all", { seed: "1", conversation: "other" })).not.toEqual(drawn);
  expect(new Set(drawn.map((edit) => JSON.stringify(edit))).size).toBeGreaterThan(50);
});

test("edits as many requests as the rate says", () => {
  const edited = (editRate: number): number =>
    drawAll("all", { editRate }, 1_000).filter((edit) => edit !== null).length;
  expect([edited(0), edited(1)]).toEqual([0, 1_000]);
  expect(Math.abs(edited(0.2) - 200)).toBeLessThan(60);
});

test("draws every kind of edit, hits every entry, and keeps to the choice", () => {
  const kinds = (edits: EditChoice): readonly string[] => [...new Set(drawAll(edits, {}, 300).map(kindOf))].sort();
  expect(kinds("all")).toEqual(["insert", "move", "once", "remove", "replace"]);
  expect(kinds("persistent")).toEqual(["insert", "move", "remove", "replace"]);
  expect(kinds("once")).toEqual(["once"]);
  const changes = drawAll("persistent", {}, 600).flatMap((edit) => (edit === null ? [] : [edit.change]));
  for (const type of ["replace", "remove", "move", "insert"] as const) {
    const hit = new Set(changes.filter((change) => change.type === type).map(({ index }) => index));
    const expected = { replace: [0, 1, 2, 3, 4], remove: [1, 2, 3, 4], move: [1, 2, 3, 4], insert: [1, 2, 3, 4, 5] };
    expect([...hit].sort()).toEqual(expected[type]);
  }
});

test("changes a Turn as it changes the document", () => {
  const turn = Turn.of(
    entries.map((entry, n) => blockOf(entry).withId(blockIdSchema.parse(`blk_${String(n).padStart(21, "0")}`))),
  );
  for (const edit of drawAll("all", {}, 500)) {
    if (edit === null) continue;
    const changed = changeEntries(entries, edit.change).map(textOf);
    expect(editTurn(turn, edit.change).blocks.map(({ text }) => text)).toEqual(changed);
    expect(changed).not.toEqual(entries.map(textOf));
  }
});

test("leaves one entry where there is only one", () => {
  const [, question] = entries;
  const alone = question === undefined ? [] : [question];
  for (let request = 0; request < 300; request += 1) {
    const edit = drawEdit(alone, { conversation: "d", request }, { seed: "1", editRate: 1, edits: "all" });
    expect(edit === null ? 0 : changeEntries(alone, edit.change).length).toBeGreaterThan(0);
  }
});

type Drawing = { readonly seed?: string; readonly conversation?: string; readonly editRate?: number };

function drawAll(edits: EditChoice, drawing: Drawing, requests = 100): readonly (DrawnEdit | null)[] {
  const { seed = "1", conversation = "d", editRate = 1 } = drawing;
  return Array.from({ length: requests }, (_, request) =>
    drawEdit(entries, { conversation, request }, { seed, editRate, edits }),
  );
}

const kindOf = (edit: DrawnEdit | null): string => (edit?.isOnce === true ? "once" : (edit?.change.type ?? "none"));

function textOf(entry: Entry): string {
  switch (entry.kind) {
    case "message":
      return entry.parts.map((part) => ("text" in part ? part.text : "")).join("");
    case "call":
      return entry.arguments;
    case "result":
      return [entry.output].flat().join("");
    case "reasoning":
      return entry.text;
  }
}
