import * as z from "zod";
import { actorSchema } from "../../domain/actor.ts";
import { anchorSchema } from "../../domain/anchor.ts";
import { blockKinds } from "../../domain/block.ts";
import { conversationStarted } from "../../domain/events/conversation-events.ts";
import { jsonValueSchema } from "../../domain/events/shared.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { envelopeSchema } from "../../log/codec/envelope.ts";
import { differenceDocument } from "./differences.ts";
import { at, block, change, conversation, count, list, place, revision, stream } from "./parts.ts";

const loggedEvent = z.strictObject({
  stream,
  revision,
  at,
  type: z.string(),
  /** Null where it cannot be read. */
  actor: actorSchema.nullable(),
  runId: z.string().nullable(),
  frame: z.string().nullable(),
  /** What happened. */
  words: z.string(),
  /** Why the event cannot be read, or that it is not what was written; null where nothing is wrong, or what is was skipped. */
  problem: z.string().nullable(),
  /** Who skipped the event, because it was damaged, why, and with which event; null for all others. */
  skipped: z.strictObject({ by: actorSchema, reason: z.string(), skippedAt: revision }).nullable(),
  /** With --patch: what it changed of the Turn; null where that is nothing, or not known. */
  changes: z.exactOptional(differenceDocument.nullable()),
});
export type LoggedEvent = z.infer<typeof loggedEvent>;

const events = z.strictObject({ conversation, events: list(loggedEvent) });

/** `turnlog log --follow`: one for each event. */
export const followDocument = z.strictObject({ conversation, event: loggedEvent });

/** `turnlog log --transcript`: what was said, in the order of the log. */
const transcript = z.strictObject({
  conversation,
  utterances: list(
    z.strictObject({
      stream,
      revision,
      at,
      actor: actorSchema,
      blockId: z.string().nullable(),
      kind: z.enum(blockKinds),
      /** The tool that a call names, or that gave a result. */
      name: z.string().nullable(),
      text: z.string(),
    }),
  ),
});
export type TranscriptDocument = z.infer<typeof transcript>;

/** `turnlog cat`: what the store holds of an event, also where it is damaged. */
export const catDocument = z.strictObject({
  ...envelopeSchema.shape,
  ...place,
  /** Of the event in the whole log. */
  position: z.string(),
  // What stands in these may be damaged, and is told as it stands.
  version: z.number(),
  at: z.string(),
  actor: jsonValueSchema,
  encoding: z.string(),
  /** Of the data as it is stored. */
  dataDigest: z.string(),
  /** Of the event and all before it, and the same of the event before. */
  digest: z.string(),
  previousDigest: z.string().nullable(),
  /** Why it cannot be read; null when it can. */
  problem: z.string().nullable(),
  /** As it is stored, long texts by reference; a text where it is no JSON. With --full with all that is stored beside it. */
  data: jsonValueSchema,
});

/** `turnlog log` */
export const logDocument = z.union([events, followDocument, transcript]);

/** `turnlog search` */
export const searchDocument = z.strictObject({
  text: z.string(),
  hits: list(
    z.strictObject({
      ...place,
      title: z.string().nullable(),
      at,
      actor: actorSchema,
      /** The block that says it; null where it is the conversation's title. */
      blockId: z.string().nullable(),
      kind: z.enum(blockKinds).nullable(),
      /** The text around what was found, on one line. */
      snippet: z.string(),
      /** Where in the snippet the first of the words stands, in UTF-16 units. */
      match: z.strictObject({ start: count, end: count }),
    }),
  ),
  /** Whether there are more than were asked for. */
  hasMore: z.boolean(),
});

/** Events that were read and whose data is not what was written: what is told of them may be anything. */
const changedEvents = list(z.strictObject({ stream, revision }));

const versions = list(z.strictObject({ digest: sha256Schema, ...change.shape }));

/** `turnlog blame` */
export const blameDocument = z.strictObject({
  ...place,
  blocks: list(
    z.strictObject({
      index: z.int(),
      id: z.string(),
      /** What it is, in a word or two. */
      label: z.string(),
      digest: sha256Schema,
      made: change.nullable(),
      versions,
      removed: change.nullable(),
      /** Who made the version that stands in the Turn. */
      changed: change.nullable(),
      text: z.string(),
    }),
  ),
  /** What is no longer in the Turn; a block that was asked for and waits for the run's end has nobody who removed it. */
  removed: list(
    z.strictObject({
      id: z.string(),
      label: z.string(),
      made: change.nullable(),
      versions,
      removed: change.nullable(),
      /** What it said last; null where the log does not tell. */
      text: z.string().nullable(),
    }),
  ),
  changedEvents,
});
export type BlameDocument = z.infer<typeof blameDocument>;

/** A block of a Turn, with what it is in a word or two, and who last changed it. */
const toldBlock = z.strictObject({ ...block.shape, label: z.string(), changed: change.nullable() });
export type ToldBlock = z.infer<typeof toldBlock>;

const run = z.strictObject({
  id: z.string(),
  state: z.enum(["open", "parked"]),
  startedRevision: revision,
  resumptions: count,
  owner: z
    .strictObject({
      host: z.string(),
      pid: z.int(),
      /** Null where the newest event is not looked at. */
      life: z.enum(["alive", "dead", "unknown"]).nullable(),
    })
    .nullable(),
  lastEventAt: at,
  openCalls: list(z.strictObject({ blockId: z.string(), name: z.string(), isStarted: z.boolean() })),
  inDoubt: list(z.strictObject({ blockId: z.string(), name: z.string() })),
  /** What servers make for it in the background. */
  underWay: list(z.strictObject({ responseId: z.string(), scope: z.string() })),
  /** What it works on. */
  working: list(toldBlock),
  ifEndedHere: list(block),
  /** What was appended while it is open, and waits for its end. */
  pending: list(block),
});
export type RunDocument = z.infer<typeof run>;

/** What a server holds under one response. */
const serverContext = z.strictObject({
  responseId: z.string(),
  inferenceId: z.string(),
  stream,
  revision,
  index: count,
  at,
  scope: z.string(),
  anchor: anchorSchema.nullable(),
  settingsDigest: sha256Schema,
  /** What the endpoint counted of it, input and output together; null where it told none. */
  tokens: count.nullable(),
  turn: sha256Schema,
  held: sha256Schema,
  inputLength: count,
  length: count,
  /** What it continued from. */
  parent: z.strictObject({ kind: z.string(), id: z.string() }).nullable(),
  unusable: z.string().nullable(),
  /** A beginning of the Turn, of what was sent last, or of neither. */
  relation: z.enum(["turn", "last-sent", "diverged"]),
  /** What speaks against continuing from it. */
  problem: z.string().nullable(),
});
export type ServerContextDocument = z.infer<typeof serverContext>;

/** `turnlog show` */
export const showDocument = z.strictObject({
  ...place,
  title: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  origin: conversationStarted.shape.data.shape.origin,
  event: z.strictObject({
    type: z.string(),
    at,
    actor: actorSchema,
    runId: z.string().nullable(),
    frame: z.string().nullable(),
    words: z.string(),
  }),
  /** The committed Turn. */
  turn: list(toldBlock),
  run: run.nullable(),
  serverContexts: list(serverContext),
  usage: list(
    z.strictObject({
      day: z.iso.date(),
      model: z.string(),
      requests: count,
      requestBytes: count,
      inputTokens: count,
      cachedInputTokens: count,
      outputTokens: count,
      reasoningTokens: count,
    }),
  ),
  /** Of the last run, where it has one. */
  budget: z
    .strictObject({
      maxInputTokens: count.nullable(),
      maxTotalTokens: count.nullable(),
      onExceeded: z.string(),
      /** What the last run's endpoint has counted of the Turn; null where it has counted none of it. */
      countedTokens: count.nullable(),
      /** All that the conversation has used. */
      usedTokens: count,
    })
    .nullable(),
  changedEvents,
});
export type ShowDocument = z.infer<typeof showDocument>;
