import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../../src/base/json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import type { Actor } from "../../../src/domain/actor.ts";
import { eventPaths } from "../../../src/domain/events/event-paths.ts";
import type { Envelope } from "../../../src/log/ports/event-store.ts";
import { redactEvent } from "../../../src/operations/transfer/redact.ts";

const folder = join(import.meta.dirname, "../../golden/events");
const goldenSchema = z.object({ type: z.string(), version: z.number(), data: z.record(z.string(), z.json()) });
const golden = readdirSync(folder).map((file) =>
  goldenSchema.parse(JSON.parse(readFileSync(join(folder, file), "utf8"))),
);

type Event = { readonly type: string; readonly version?: number; readonly data: JsonValue };

const envelopeOf = ({ type, version = 1, data }: Event, actor: Actor = { kind: "engine" }): Envelope => ({
  ...{ id: "e", stream: "conversation-cnv_1", revision: 0, position: "0", at: "2026-03-01T00:00:00.000Z" },
  ...{ type, version, actor, encoding: "json", dataDigest: "0", digest: "0" },
  data: typeof data === "string" ? data : JSON.stringify(data),
});

const redacted = (event: Event): unknown => JSON.parse(redactEvent(envelopeOf(event)).data);

/** Each scalar with its path, items of a list as `[]`. */
function leavesOf(value: JsonValue, path = ""): readonly (readonly [string, JsonValue])[] {
  if (isJsonList(value)) return value.flatMap((item) => leavesOf(item, `${path}[]`));
  if (!isJsonObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, item]) =>
    name === "$redacted" || item === undefined ? [] : leavesOf(item, path === "" ? name : `${path}.${name}`),
  );
}

/** The same value with a secret word for every text, a number that says something for every number, and more in every object. */
function loaded(value: JsonValue, names: readonly string[]): JsonValue {
  if (isJsonList(value)) return value.map((item) => loaded(item, names));
  if (typeof value === "string") return "hunter2";
  if (typeof value === "number") return 4711;
  if (!isJsonObject(value)) return value;
  const more = Object.fromEntries(names.filter((name) => !(name in value)).map((name) => [name, hidden]));
  return Object.fromEntries([
    ...Object.entries(value).map(([name, item]): [string, JsonValue] => [name, loaded(item ?? null, names)]),
    ...Object.entries(more),
    ["hunter2", hidden],
  ]);
}

const hidden: JsonObject = {
  id: "hunter2",
  name: "hunter2",
  text: ["hunter2"],
  count: 4711,
  hunter2: { type: "hunter2" },
};
/** What members of kept values are called, and what such members were kept for once, wherever they stood. */
const names = [
  ...new Set(Object.values(eventPaths).flatMap(({ kept }) => kept.flatMap((path) => path.split(/[.[\]]+/)))),
  ...["$secret", "$blob", "$redacted", "__proto__", "item_id", "codec", "decision"],
].filter((name) => name !== "");

const factsOf = (text: string) => ({ sha256: sha256Hex(text), bytes: Buffer.byteLength(text) });
const hiddenText = (text: string) => ({ $redacted: factsOf(text) });
const hiddenJson = (text: string) => ({ $redacted: { ...factsOf(text), json: true } });

test.each(golden)("a redacted $type keeps the listed members and no others, whatever their names", (event) => {
  const given = loaded(event.data, names);
  const told = redacted({ type: event.type, data: given });
  const { kept, named } = Object.entries(eventPaths).find(([type]) => type === event.type)?.[1] ?? {
    kept: [],
    named: [],
  };
  const left = leavesOf(told as JsonValue);
  for (const [path] of left) expect(kept).toContain(path);
  // Listed members that are present stay.
  const isScalarAt = new Set(leavesOf(given).map(([path]) => path));
  expect(new Set(left.map(([path]) => path))).toEqual(new Set(kept.filter((path) => isScalarAt.has(path))));
  // Names are left where a path is listed, and nowhere else.
  const steps = new Set([...kept, ...named].flatMap((path) => path.split(/[.[\]]+/)));
  const namesLeft = JSON.stringify(told).match(/"([^"]+)":/g) ?? [];
  for (const name of namesLeft) expect([...steps, "$redacted", "sha256", "bytes", "json"]).toContain(name.slice(1, -2));
});

test("what was said is told by hash and length, and what is not listed is one thing", () => {
  const payload = {
    type: "message",
    role: "user",
    name: "Ada",
    content: [{ type: "input_text", text: "hunter2", note: "x" }],
    metadata: { id: "hunter2" },
  };
  const block = { id: "blk_1", kind: "user", digest: "d", payload };
  expect(redacted({ type: "BlockAppended", data: { block } })).toEqual({
    block: {
      ...{ id: "blk_1", kind: "user", digest: "d" },
      payload: {
        ...{ type: "message", role: "user" },
        name: hiddenText("Ada"),
        content: [
          {
            type: "input_text",
            text: hiddenText("hunter2"),
            ...hiddenJson('{"note":"x"}'),
          },
        ],
        ...hiddenJson('{"metadata":{"id":"hunter2"}}'),
      },
    },
  });
});

test("settings, labels, answers and errors keep none of their members' names", () => {
  const settings = {
    model: "gpt-5",
    metadata: { name: "Ada" },
    tools: [{ type: "mcp", name: "x", headers: { id: "y" } }],
  };
  const told = [
    redacted({ type: "SettingsDeclared", data: { digest: "d", settings } }),
    redacted({ type: "ConversationRelabelled", data: { title: "Ada", labels: { Ada: "x", id: "Ada" } } }),
    redacted({
      type: "InferenceFailed",
      data: { inferenceId: "inf_1", kind: "unknown", code: "Ada Lovelace", body: { id: "Ada" } },
    }),
    redacted({
      type: "EffectFinished",
      data: { effectId: "run/0/1", answer: { outcome: "ok", value: { id: "Ada" } } },
    }),
  ].map((each) => JSON.stringify(each));
  for (const text of told) expect(text).not.toMatch(/Ada|headers/);
  expect(told[0]).toContain('"model":"gpt-5"');
  expect(told[2]).toContain('"kind":"unknown"');
});

test("an event of another version or type, and what is no JSON, keep nothing", () => {
  const data = { type: "x", id: "y" };
  for (const event of [
    { type: "BlockAppended", version: 2, data },
    { type: "NoteTaken", data },
    { type: "RunFailed", data: "not" },
  ])
    expect(redacted(event)).toEqual(event.data === data ? hiddenJson(JSON.stringify(data)) : hiddenText("not"));
  expect(redacted({ type: "constructor", data })).toHaveProperty("$redacted");
});

test("what is stored beside the event is named as it was", () => {
  const reference = { $blob: { sha256: "0".repeat(64), bytes: 70_000 } };
  const said = (text: JsonValue): JsonValue => ({
    block: { id: "blk_1", payload: { type: "message", content: [{ type: "input_text", text }] } },
  });
  expect(redacted({ type: "BlockAppended", data: said(reference) })).toEqual(said(reference));
  for (const odd of [
    { $blob: { sha256: "hunter2", bytes: 1 } },
    { $blob: { ...reference.$blob, x: "hunter2" } },
    { $secret: "hunter2" },
  ])
    expect(JSON.stringify(redacted({ type: "BlockAppended", data: said(odd) }))).not.toContain("hunter2");
});

test("people's names go, and those of layers, tools and providers stay", () => {
  const event = { type: "RunParked", data: { blockIds: [] } };
  const actorOf = (actor: Actor): unknown => redactEvent(envelopeOf(event, actor)).actor;
  const layer = { kind: "middleware", name: "redact", version: "1.0.0", frame: "0.1", direction: "request" } as const;
  expect(actorOf(layer)).toEqual(layer);
  expect(actorOf({ kind: "user", name: "Ada" })).toEqual({
    kind: "user",
    name: hiddenText("Ada"),
  });
});

test("what a vendor says of its prompt cache is shown, and what a request asked for that", () => {
  const responses = {
    prompt_cache_diagnostics: { type: "cache_miss", reason: "tools_changed", cache_missed_tokens: 9, more: "secret" },
  };
  const messages = { diagnostics: { cache_miss_reason: { type: "tools_changed", cache_missed_input_tokens: 9 } } };
  const restOf = (rest: JsonObject) => redacted({ type: "ResponseReceived", data: { inferenceId: "inf_1", rest } });
  expect(restOf(responses)).toMatchObject({
    rest: { prompt_cache_diagnostics: { type: "cache_miss", reason: "tools_changed", cache_missed_tokens: 9 } },
  });
  expect(JSON.stringify(restOf(responses))).not.toContain("secret");
  expect(restOf(messages)).toMatchObject({ rest: messages });
  expect(restOf({ diagnostics: null })).toMatchObject({ rest: { diagnostics: null } });
  const details = { compared: { id: "resp_1", inferenceId: "inf_0" }, breakpoints: [3, 1] };
  const data = { decision: { details, capabilities: { cacheDiagnostics: true, cacheBreakpoints: false } } };
  expect(redacted({ type: "InferenceRequested", data })).toMatchObject(data);
});
