import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { actorSchema, describeActor } from "../../src/domain/actor.ts";
import {
  conversationEventSchema,
  parseConversationEvent,
  UnreadableEventError,
} from "../../src/domain/events/event.ts";
import { decisionSchema } from "../../src/domain/events/inference-events.ts";
import { upcast } from "../../src/domain/events/upcast.ts";

type Stored = { readonly type: string; readonly version: number; readonly data: JsonObject };

const folder = join(import.meta.dirname, "../golden/events");
const files = readdirSync(folder).sort();
const golden = new Map(files.map((name) => [name, storedIn(name)]));
const known = conversationEventSchema.options.map(({ shape }) => ({
  type: shape.type.value,
  version: shape.version.value,
}));

describe("every event that was ever released", () => {
  test("is kept in a golden file per type and version", () => {
    const expected = known.flatMap(({ type, version }) =>
      Array.from({ length: version }, (_, older) => `${type}-${older + 1}.json`),
    );
    expect(files.filter((name) => !name.includes("+"))).toEqual(expected.sort());
  });

  // As `sha256sum` prints it. What an event says further is an optional member, with a golden file of its own beside this one
  // (RunStarted-1+member.json) and a line of its own here, or a new version of the event.
  test("is frozen: no golden file changes, and none is without its digest", () => {
    const digests = files.map((name) => `${sha256Hex(readFileSync(join(folder, name), "utf8"))}  ${name}`);
    expect(`${digests.join("\n")}\n`).toBe(readFileSync(join(folder, "../events.sha256"), "utf8"));
  });

  test.each(files)("is read as it is: %s", (name) => {
    const { type, version, data } = storedIn(name);
    expect(name.replace(/\+[a-z-]+/i, "")).toBe(`${type}-${version}.json`);
    const event = parseConversationEvent(type, version, data);
    expect(event.type).toBe(type);
    expect(JSON.stringify(event.data)).toBe(JSON.stringify(upcast({ type, version, data }).data));
  });

  test.each(files)("is rejected with an unknown member: %s", (name) => {
    const { type, version, data } = storedIn(name);
    expect(() => parseConversationEvent(type, version, { ...data, surprise: 1 })).toThrow(UnreadableEventError);
  });

  test.each(files)("is refused without a member that it must have: %s", (name) => {
    const { type, version, data } = storedIn(name);
    const refused = Object.keys(data).filter((member) => {
      try {
        parseConversationEvent(type, version, without(data, member));
        return false;
      } catch (error) {
        return error instanceof UnreadableEventError;
      }
    });
    // What may be left out of each event; everything else is required.
    expect(Object.keys(data).filter((member) => !refused.includes(member))).toEqual(
      optional.get(name.replace(/-\d+/, "").replace(".json", "")) ?? [],
    );
  });
});

const optional: ReadonlyMap<string, readonly string[]> = new Map([
  ["ConversationStarted", ["title", "labels"]],
  ["ConversationRelabelled", ["title", "labels"]],
  ["EventSkipped+found", ["found"]],
  ["SettingsDeclared+base", ["base", "without", "bytes"]],
  ["RunStarted", ["again", "options"]],
  ["ServerConversationChanged+cut", ["keeps", "items"]],
  ["RunStarted+compact", ["again", "options", "compact"]],
  ["RunStarted+summary", ["compact"]],
  ["TurnEdited+compaction", ["base", "compaction"]],
  ["TurnCompacted+window", ["window"]],
  ["RunStarted+kept-reasoning", []],
  ["RunStarted+budget", ["again", "options", "budget"]],
  ["RunStarted+lease", ["again", "options"]],
  ["RunStarted+trace", ["trace"]],
  ["RunResumed+trace", ["trace"]],
  ["TurnEdited", ["base"]],
  ["InferenceRequested", ["timings"]],
  ["InferenceRequested+connection", ["timings"]],
  ["InferenceRequested+route", ["route"]],
  ["ResponseReceived", ["anchor", "echo", "failure", "usage", "requestId"]],
  ["ResponseReceived+paused", []],
  ["ResponseReceived+withheld", ["usage", "withheld"]],
  ["ResponseStarted+stream", ["cursor", "first"]],
  ["ResponseReceived+filters", ["contentFilters"]],
  ["ResponseReceived+counts", ["usage", "firstMs"]],
  ["ContextImported", ["tokens"]],
  ["CapabilityLearned", ["model"]],
  ["InferenceFailed", ["body", "retryAfterMs", "shouldRetry", "requestId", "retryInMs"]],
  ["WarmUpAnswered", ["anchor", "echo", "usage", "requestId"]],
  ["WarmUpFailed", ["body", "retryAfterMs", "shouldRetry", "requestId"]],
  ["InferenceFailed+filters", ["contentFilters"]],
  ["InferenceFailed+next", ["next"]],
  ["InferenceFailed+usage", ["usage"]],
  ["ToolFinished", ["late"]],
  ["ToolFinished+invalid", ["invalid"]],
  ["ToolFinished+json", ["json"]],
  ["ToolParked+reason", ["reason"]],
  ["ApprovalRequested", ["inputSchema", "reason", "expiresAt"]],
  ["ApprovalRequested+call", ["call"]],
  ["ApprovalDecided", ["input", "message", "key"]],
  ["RunCompleted", ["timings"]],
  ["RunFailed", ["thrownBy", "discardedTools", "timings"]],
  ["RunCancelled", ["discardedTools", "timings"]],
]);

describe("an event that this turnlog does not know", () => {
  const { data } = storedIn("BlockAppended-1.json");

  test.each([
    ["of an unknown type", "BlockVanished", 1],
    ["of a newer version", "BlockAppended", 2],
    ["of no version", "BlockAppended", 0],
  ])("is an error that names it, never skipped: %s", (_, type, version) => {
    expect(() => parseConversationEvent(type, version, data)).toThrow(UnreadableEventError);
    expect(() => parseConversationEvent(type, version, data)).toThrow(`cannot read ${type} version ${version}`);
  });

  test("of the right type with other data is an error that says where", () => {
    const block = isJsonObject(data["block"]) ? { ...data["block"], kind: "poem" } : {};
    expect(() => parseConversationEvent("BlockAppended", 1, { block })).toThrow(/block\.kind/);
  });
});

test("payloads and residues keep their members and the order of them, numbers and __proto__ included", () => {
  const text = '{"z":1,"2":2,"1":1,"__proto__":{"a":1},"role":"user"}';
  const payload: unknown = JSON.parse(text);
  if (!isJsonObject(payload)) throw new Error("the test's payload is an object");
  const block = { id: "blk_0000000000000001", kind: "other", digest: "0".repeat(64), payload };
  const event = parseConversationEvent("BlockAppended", 1, { block });
  expect(event.type === "BlockAppended" ? JSON.stringify(event.data.block.payload) : "").toBe(JSON.stringify(payload));
});

test.each<JsonObject>([
  { type: "new" },
  { type: "child", conversationId: "cnv_1234", runId: "run_0000000000000001", blockId: "run_0000000000000001/0.0/1" },
  { type: "import", source: "chats.jsonl" },
  { type: "import", source: "store", head: { revision: 3, digest: "0".repeat(64) } },
])("a conversation may come from $type", (origin) => {
  const read = (value: JsonObject) => parseConversationEvent("ConversationStarted", 1, { origin: value });
  expect(read(origin).data).toEqual({ origin });
  expect(() => read({ ...origin, surprise: 1 })).toThrow(UnreadableEventError);
});

test("docs/EVENTS.md tells every event, every field of it, and every actor", () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/EVENTS.md"), "utf8");
  const sections = new Map(text.split(/^### /m).map((section) => [section.split("\n", 1)[0] ?? "", section]));
  const untold = known.flatMap(({ type, version }) => {
    const section = sections.get(`${type} (version ${version})`);
    if (section === undefined) return [type];
    const written = files.filter((name) => name.replace(/\+[a-z-]+/i, "") === `${type}-${version}.json`);
    return written
      .flatMap((name) => membersOf(golden.get(name)?.data))
      .filter((member) => !section.includes(`\`${member}\``))
      .map((member) => `${type}.${member}`);
  });
  expect(untold).toEqual([]);
  const actors = actorSchema.options.map(({ shape }) => shape.kind.value);
  const decision = Object.keys(decisionSchema.shape);
  expect([...actors, ...decision].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test("actors say in one phrase who did it", () => {
  const frame = "0.1";
  const phrases = [
    describeActor({ kind: "middleware", name: "redact", version: "1.0.0", frame, direction: "response" }),
    describeActor({ kind: "provider", name: "openai-responses", inferenceId: "inf_1" }),
    describeActor({ kind: "tool", name: "weather" }),
    describeActor({ kind: "user", name: "ann" }),
    describeActor({ kind: "recovery" }),
    describeActor({ kind: "import" }),
  ];
  expect(phrases).toEqual([
    "middleware redact@1.0.0 (response, frame 0.1)",
    "provider openai-responses (inf_1)",
    "tool weather",
    "user ann",
    "recovery",
    "import",
  ]);
});

function storedIn(name: string): Stored {
  const json: unknown = JSON.parse(readFileSync(join(folder, name), "utf8"));
  if (!isJsonObject(json)) throw new Error(`${name} holds no object`);
  const { type, version, data } = json;
  if (typeof type !== "string" || typeof version !== "number" || !isJsonObject(data))
    throw new Error(`${name} holds no event`);
  return { type, version, data };
}

const without = (data: JsonObject, member: string): JsonObject =>
  Object.fromEntries(Object.entries(data).filter(([name]) => name !== member));

/** The names of an event's own members, as deep as its schema is strict: not of what is kept as it came. */
function membersOf(value: JsonValue | undefined): readonly string[] {
  if (isJsonList(value)) return value.flatMap(membersOf);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...(verbatim.has(name) ? [] : membersOf(member))]);
}

/** Told once, in the sections on blocks and decisions, or no turnlog's own. */
const verbatim: ReadonlySet<string> = new Set(
  "block body payload wire residue settings rest reported labels partial result output edits decision stack owner timings call inputSchema input".split(
    " ",
  ),
);
