import * as z from "zod";
import { actorSchema } from "../../../src/domain/actor.ts";
import { decisionSchema, divergenceSchema } from "../../../src/domain/events/inference-events.ts";
import { sha256Schema } from "../../../src/domain/ids.ts";
import { at, block, change, changes, conversation, stream, timelineRow, versions } from "./contract-parts.ts";

/** What is typed after a demo, and the data that `--json` prints for it. */
export const contracts: readonly (readonly [typed: string, data: z.ZodType])[] = [
  [
    "ls",
    z.strictObject({
      conversations: z.array(
        z.strictObject({
          id: conversation,
          title: z.string().nullable(),
          begins: z.string().nullable(),
          origin: z.enum(["new", "fork", "child", "import"]),
          parent: z.string().nullable(),
          events: z.int(),
          runs: z.int(),
          isRunOpen: z.boolean(),
          requests: z.int(),
          chained: z.int(),
          rebased: z.int(),
          full: z.int(),
          bytesSent: z.int(),
          bytesSaved: z.int(),
          startedAt: at,
          lastAt: at,
          isDamaged: z.boolean(),
        }),
      ),
      total: z.int(),
    }),
  ],
  [
    "projections",
    z.strictObject({
      projections: z
        .array(
          z.strictObject({
            name: z.enum(["conversation-list", "usage"]),
            version: z.int(),
            builtVersion: z.int().nullable(),
            events: z.int(),
            behind: z.int(),
            degraded: z.int(),
            quarantined: z.int(),
          }),
        )
        .length(2),
    }),
  ],
  [
    "projections rebuild",
    z.strictObject({
      rebuilt: z
        .array(
          z.strictObject({
            name: z.enum(["conversation-list", "usage"]),
            events: z.literal(66),
            degraded: z.literal(0),
          }),
        )
        .length(2),
    }),
  ],
  ["projections quarantine", z.strictObject({ degraded: z.array(z.never()) })],
  ["projections retry", z.strictObject({ retried: z.array(z.never()) })],
  ["log @last", z.strictObject({ conversation, events: z.array(timelineRow).length(66) })],
  ["log @last@10..12", z.strictObject({ conversation, events: z.array(timelineRow).length(3) })],
  [
    "log @last@22..24 --patch",
    z.strictObject({
      conversation,
      events: z.array(z.strictObject({ ...timelineRow.shape, changes: z.strictObject(changes).nullable() })).length(3),
    }),
  ],
  [
    "log @last --transcript",
    z.strictObject({
      conversation,
      utterances: z
        .array(
          z.strictObject({
            stream,
            revision: z.int(),
            at,
            actor: actorSchema,
            blockId: z.string().nullable(),
            kind: z.string(),
            name: z.string().nullable(),
            text: z.string(),
          }),
        )
        .min(1),
    }),
  ],
  [
    "show @last@24",
    showData(
      z.strictObject({
        id: z.string().regex(/^run_/),
        state: z.literal("open"),
        startedRevision: z.int(),
        resumptions: z.int(),
        owner: z.strictObject({ host: z.string(), pid: z.int(), life: z.null() }),
        lastEventAt: at,
        openCalls: z.array(z.strictObject({ blockId: z.string(), name: z.string(), isStarted: z.boolean() })),
        inDoubt: z.array(z.strictObject({ blockId: z.string(), name: z.string() })),
        working: z.array(block).min(1),
        ifEndedHere: z.array(block).min(1),
        pending: z.array(block),
      }),
    ),
  ],
  ["show @last", showData(z.null())],
  [
    "diff @last@20..36",
    z.strictObject({
      from: z.strictObject({ conversation, revision: z.literal(20), digest: sha256Schema }),
      to: z.strictObject({ conversation, revision: z.literal(36), digest: sha256Schema }),
      ...changes,
      added: changes.added.length(4),
      modified: changes.modified.length(1),
    }),
  ],
  [
    "request @last@24",
    z.strictObject({
      conversation,
      revision: z.literal(24),
      inferenceId: z.string().regex(/^inf_/),
      transport: z.literal("sse"),
      encoder: z.literal("openai-responses/1"),
      sha256: sha256Schema,
      bytes: z.int(),
      bodyText: z.string(),
    }),
  ],
  [
    "why @last@24",
    z.strictObject({
      conversation,
      revision: z.literal(24),
      at,
      runId: z.string(),
      frame: z.string(),
      inferenceId: z.string(),
      attempt: z.literal(0),
      decision: decisionSchema,
      blocks: z.int(),
      bytes: z.int(),
      fullBytes: z.int(),
      candidates: z
        .array(
          z.strictObject({
            responseId: z.string(),
            inferenceId: z.string(),
            stream,
            revision: z.int(),
            length: z.int(),
            verdict: z.string(),
            divergence: divergenceSchema.nullable(),
          }),
        )
        .length(2),
    }),
  ],
  [
    "blame @last",
    z.strictObject({
      conversation,
      revision: z.literal(65),
      blocks: z
        .array(
          z.strictObject({
            index: z.int(),
            id: z.string(),
            label: z.string(),
            digest: sha256Schema,
            made: change,
            versions: versions(),
            removed: z.null(),
            changed: change,
          }),
        )
        .length(20),
      removed: z
        .array(
          z.strictObject({ id: z.string(), label: z.string(), made: change, versions: versions(), removed: change }),
        )
        .length(1),
    }),
  ],
  [
    "verify",
    z.strictObject({
      streams: z.literal(1),
      events: z.literal(66),
      requests: z.literal(8),
      problems: z.array(z.never()),
      skipped: z.array(z.never()),
      savedHeads: z.null(),
    }),
  ],
  [
    "demo",
    z.strictObject({
      conversation,
      store: z.string().regex(/^sqlite:.*turnlog\.db$/),
      requests: z
        .array(
          z.strictObject({
            revision: z.int(),
            strategy: z.enum(["chained", "rebased", "full"]),
            reason: z.string().nullable(),
            bytes: z.int(),
            fullBytes: z.int(),
            blocks: z.int(),
            blocksSent: z.int(),
            brokenBy: z.strictObject({ ...divergenceSchema.shape, block: z.string() }).nullable(),
          }),
        )
        .length(8),
      totals: z.strictObject({
        requests: z.literal(8),
        chained: z.literal(4),
        rebased: z.literal(2),
        full: z.literal(2),
        bytesSent: z.int(),
        bytesFull: z.int(),
      }),
    }),
  ],
];

function showData(run: z.ZodType) {
  return z.strictObject({
    conversation,
    revision: z.int(),
    title: z.string(),
    labels: z.strictObject({}),
    origin: z.strictObject({ type: z.literal("new") }),
    event: z.strictObject({
      type: z.string(),
      at,
      actor: actorSchema,
      runId: z.string(),
      frame: z.string().nullable(),
      words: z.string(),
    }),
    turn: z.array(block).min(1),
    run,
    serverContexts: z
      .array(
        z.strictObject({
          responseId: z.string(),
          inferenceId: z.string(),
          stream,
          revision: z.int(),
          index: z.int(),
          at,
          scope: z.string(),
          model: z.string(),
          settingsDigest: sha256Schema,
          turn: sha256Schema,
          held: sha256Schema,
          inputLength: z.int(),
          length: z.int(),
          parent: z.string().nullable(),
          unusable: z.string().nullable(),
          relation: z.enum(["turn", "last-sent", "diverged"]),
          problem: z.string().nullable(),
        }),
      )
      .min(1),
    usage: z
      .array(
        z.strictObject({
          day: z.iso.date(),
          model: z.literal("demo"),
          requests: z.int(),
          requestBytes: z.int(),
          inputTokens: z.int(),
          cachedInputTokens: z.int(),
          outputTokens: z.int(),
          reasoningTokens: z.int(),
        }),
      )
      .length(1),
  });
}
