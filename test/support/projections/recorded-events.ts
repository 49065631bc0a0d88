import type { Actor } from "../../../src/domain/actor.ts";
import type { Block } from "../../../src/domain/block.ts";
import { type BlockJson, blockToJson } from "../../../src/domain/block-json.ts";
import type { ConversationEvent, ConversationEventOf } from "../../../src/domain/events/event.ts";
import type { RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { blockIdSchema, configNameSchema, inferenceIdSchema, settingsNameSchema } from "../../../src/domain/ids.ts";
import type { Projection } from "../../../src/projections/projection.ts";

type Place = { readonly actor?: Actor; readonly at?: string; readonly revision?: number };

/** Folds events as if they were those of one stream, a minute apart. */
export function fold<View>(
  projection: Projection<View>,
  events: readonly (readonly [ConversationEvent, Place?])[],
): View {
  return events.reduce(
    (view, [event, place], revision) => projection.apply(view, recorded(event, { revision, ...place })),
    projection.initial("stream"),
  );
}

function recorded(event: ConversationEvent, { actor = { kind: "engine" }, revision = 0, at }: Place): RecordedEvent {
  const time = at ?? `2026-03-01T12:${String(revision).padStart(2, "0")}:00.000Z`;
  return {
    stream: "stream",
    revision,
    id: `event ${revision}`,
    at: time,
    actor,
    runId: "run_1",
    frame: "0",
    digest: `${revision}`,
    event,
  };
}

export const digest = settingsNameSchema.parse("0".repeat(64));
export const inferenceId = (name: string) => inferenceIdSchema.parse(`inf_${name.padStart(16, "0")}`);

/** A block as events hold it, under an id of this name. */
export const json = (block: Block, name: string): BlockJson =>
  blockToJson(block.withId(blockIdSchema.parse(`blk_${name.padStart(16, "0")}`)));

export const appended = (block: Block, name: string): ConversationEvent => ({
  type: "BlockAppended",
  version: 1,
  data: { block: json(block, name) },
});

type Requested = ConversationEventOf<"InferenceRequested">["data"];

/** A full first request of one block; `changes` says what is otherwise. */
export const requested = (
  name: string,
  {
    decision,
    ...changes
  }: Partial<Omit<Requested, "decision">> & { readonly decision?: Partial<Requested["decision"]> } = {},
): ConversationEvent => ({
  type: "InferenceRequested",
  version: 1,
  data: {
    inferenceId: inferenceId(name),
    attempt: 0,
    scope: "here",
    encoder: "openai-responses/1",
    settingsDigest: digest,
    input: { turn: digest, held: digest, blocks: 1 },
    requestDigest: digest,
    requestBytes: 1_000,
    ...changes,
    decision: {
      strategy: "full",
      reason: "first-request",
      anchor: null,
      transport: "json",
      sendFrom: 0,
      back: 0,
      changedSettings: [],
      repairs: [],
      rejected: null,
      now: "2026-03-01T12:00:00.000Z",
      capabilities: {
        chain: true,
        echo: "anchor",
        storeDefault: true,
        emptyInput: false,
        encryptedReasoning: true,
        itemIds: true,
      },
      ...decision,
    },
  },
});

export const received = (
  name: string,
  output: readonly BlockJson[],
  changes: Partial<ConversationEventOf<"ResponseReceived">["data"]> = {},
): ConversationEvent => ({
  type: "ResponseReceived",
  version: 1,
  data: {
    inferenceId: inferenceId(name),
    responseId: `resp_${name}`,
    status: "completed",
    isComplete: true,
    output: [...output],
    anchor: { kind: "response", id: `resp_${name}` },
    rest: {},
    echoed: [],
    ...changes,
  },
});

export const settingsDeclared = (settings: {
  readonly [name: string]: string | readonly string[];
}): ConversationEvent => ({
  type: "SettingsDeclared",
  version: 2,
  data: { digest, settings },
});

export const finished = (
  call: BlockJson,
  result: BlockJson,
  changes: Partial<ConversationEventOf<"ToolFinished">["data"]> = {},
): ConversationEvent => ({
  type: "ToolFinished",
  version: 1,
  data: { blockId: call.id, result, outcome: "ok", durationMs: 1_234.4, ...changes },
});

export const runStarted: ConversationEvent = {
  type: "RunStarted",
  version: 1,
  data: {
    epoch: 1,
    owner: { processId: "prc_1", bootId: "boot", host: "here", pid: 1, startedAt: "then", pidNamespace: "there" },
    stack: [{ name: "redact", version: "1.0.0", configDigest: configNameSchema.parse(digest) }],
    provider: { name: "scripted", scope: "here", codec: "openai-responses/1" },
    settingsDigest: digest,
    chain: { mode: "chained", onRefused: "fallback", maxAgeMs: 1_000, onSettingsChange: {} },
    base: digest,
  },
};

export const runCompleted: ConversationEvent = {
  type: "RunCompleted",
  version: 1,
  data: { status: "completed", after: digest },
};
