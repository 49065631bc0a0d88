import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { conversationEventSchema } from "../../src/domain/events/event.ts";
import { eventReaders } from "../support/projections/event-readers.ts";

const source = join(import.meta.dirname, "../../src");
const eventTypes: ReadonlySet<string> = new Set(conversationEventSchema.options.map(({ shape }) => shape.type.value));
/** They ask for types by name, so who calls them reads the type. */
const predicates: ReadonlySet<string> = new Set(["isRunEnd", "isRequest"]);

/** Only these change state by the type of an event. */
const isFold = (file: string): boolean => file.startsWith("projections/") || file.startsWith("log/aggregate/");

/** `z.literal("RunStarted")`: how the type is declared. */
const isSchema = (node: ts.Node): boolean => ts.isCallExpression(node) && node.expression.getText() === "z.literal";

const readers = globSync("**/*.ts", { cwd: source })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => !isFold(file) && readsEventType(readFileSync(join(source, file), "utf8")))
  .toSorted();

/**
 * Whether code looks at the type of an event: it asks an `event` for its type, names a type of event where it writes none, or calls a
 * function that does. Types that TypeScript alone sees are no reading.
 */
function readsEventType(code: string): boolean {
  const look = (node: ts.Node): boolean => isReading(node) || (ts.forEachChild(node, look) ?? false);
  return look(ts.createSourceFile("file.ts", code, ts.ScriptTarget.Latest, true));
}

function isReading(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node) && node.name.text === "type")
    return /(^|\.)event$/.test(node.expression.getText());
  if (ts.isCallExpression(node)) return predicates.has(node.expression.getText());
  if (ts.isPropertyAssignment(node)) return eventTypes.has(node.name.getText());
  if (!ts.isStringLiteral(node) || !eventTypes.has(node.text)) return false;
  const { parent } = node;
  const isWritten = ts.isPropertyAssignment(parent) && parent.name.getText() === "type";
  const isDeclared = ts.isLiteralTypeNode(parent) || isSchema(parent);
  return !isWritten && !isDeclared;
}

test.each([
  ["if (recorded.event.type === wanted) return;", true],
  ['switch (type) { case "RunStarted": }', true],
  ['const ends = new Set(["RunCompleted", "RunFailed"]);', true],
  ['const words = { RunStarted: "begins" };', true],
  ["if (isRunEnd(event)) return;", true],
  ['record({ type: "RunStarted", version: 1, data });', false],
  ['type Started = ConversationEventOf<"RunStarted">;', false],
  ['if (part.type === "run-end") return;', false],
])("%s reads the type of an event: %s", (code, isReader) => {
  expect(readsEventType(code)).toBe(isReader);
});

test("every file that reads the type of an event is a fold, or in the list with its reason", () => {
  expect(readers.length).toBeGreaterThan(30);
  expect(
    readers.filter((file) => !(file in eventReaders)),
    "these files read the type of an event: if one changes state by it, move that to src/projections or src/log/aggregate and ask the view; else add the file to test/support/projections/event-readers.ts with the reason",
  ).toEqual([]);
});

test("the list names no file that reads no type of an event", () => {
  expect(Object.keys(eventReaders).filter((file) => !readers.includes(file))).toEqual([]);
});
