import * as z from "zod";
import { actorSchema } from "../../domain/actor.ts";
import { anchorSchema } from "../../domain/anchor.ts";
import { blockKinds } from "../../domain/block.ts";
import { conversationStarted } from "../../domain/events/conversation-events.ts";
import { jsonValueSchema } from "../../domain/events/shared.ts";
import { sha256Schema } from "../../domain/ids.ts";
import { envelopeSchema } from "../../log/codec/envelope.ts";
import { differenceDocument } from "./differences.ts";
import { at, block, change, conversation, count, list, place, revision, stream, waiting } from "./parts.ts";

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
  /** Why the event cannot be read, or that its data was changed; null if nothing is wrong, or the event was skipped. */
  problem: z.string().nullable(),
  /** Who skipped the damaged event, why, and with which event; null for all others. */
  skipped: z.strictObject({ by: actorSchema, reason: z.string(), skippedAt: revision }).nullable(),
  /** With --patch: how it changed the Turn; null if it did not, or the change is unknown. */
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
      /** The tool of a call or a result. */
      name: z.string().nullable(),
      text: z.string(),
    }),
  ),
});
export type TranscriptDocument = z.infer<typeof transcript>;

/** `turnlog cat`: an event as the store holds it, even if it is damaged. */
export const catDocument = z.strictObject({
  ...envelopeSchema.shape,
  ...place,
  /** The event's position in the whole log. */
  position: z.string(),
  // The following members may be damaged, and are shown as they are.
  version: z.number(),
  at: z.string(),
  actor: jsonValueSchema,
  encoding: z.string(),
  /** The digest of the data as it is stored. */
  dataDigest: z.string(),
  /** The digest of the event and all events before it, and the one of the previous event. */
  digest: z.string(),
  previousDigest: z.string().nullable(),
  /** Why it cannot be read; null if it can. */
  problem: z.string().nullable(),
  /**
   * The data as it is stored, with long texts by reference; a text if it is not JSON. With --full, includes everything stored
   * beside it.
   */
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
      /** The block with the text; null if it is the conversation's title. */
      blockId: z.string().nullable(),
      kind: z.enum(blockKinds).nullable(),
      /** The text around the match, on one line. */
      snippet: z.string(),
      /** Where the first word is in the snippet, in UTF-16 units. */
      match: z.strictObject({ start: count, end: count }),
    }),
  ),
  /** Whether there are more results than requested. */
  hasMore: z.boolean(),
});

/** Events whose data was changed after they were written: what the document says about them may be wrong. */
const changedEvents = list(z.strictObject({ stream, revision }));

const versions = list(z.strictObject({ digest: sha256Schema, ...change.shape }));

/** `turnlog blame` */
export const blameDocument = z.strictObject({
  ...place,
  blocks: list(
    z.strictObject({
      index: z.int(),
      id: z.string(),
      /** A short name of the block. */
      label: z.string(),
      digest: sha256Schema,
      made: change.nullable(),
      versions,
      removed: change.nullable(),
      /** The newest erasure that took its content. */
      erased: change.nullable(),
      /** Who made the version that is in the Turn. */
      changed: change.nullable(),
      text: z.string(),
    }),
  ),
  /**
   * Blocks that are no longer in the Turn. A requested block that waits for the run's end is listed too, without an author of its
   * removal.
   */
  removed: list(
    z.strictObject({
      id: z.string(),
      label: z.string(),
      made: change.nullable(),
      versions,
      removed: change.nullable(),
      /** The newest erasure that took its content. */
      erased: change.nullable(),
      /** Its last text; null if the log does not have it. */
      text: z.string().nullable(),
    }),
  ),
  changedEvents,
});
export type BlameDocument = z.infer<typeof blameDocument>;

/** A block of a Turn, with a short name and the author of its last change. */
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
      /** Null if the document is not about the newest event. */
      life: z.enum(["alive", "dead", "unknown"]).nullable(),
    })
    .nullable(),
  lastEventAt: at,
  openCalls: list(z.strictObject({ blockId: z.string(), name: z.string(), isStarted: z.boolean() })),
  /** Of what it waits for, the calls and effects with an unknown outcome. */
  inDoubt: list(z.strictObject({ blockId: z.string(), name: z.string() })),
  waitingFor: list(waiting),
  /** Responses that servers make for it in the background. */
  underWay: list(z.strictObject({ responseId: z.string(), scope: z.string() })),
  /** The Turn that it works on. */
  working: list(toldBlock),
  ifEndedHere: list(block),
  /** Blocks that were appended while it is open, and wait for its end. */
  pending: list(block),
});
export type RunDocument = z.infer<typeof run>;

/** The context of one response at a server. */
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
  /** The endpoint's token count of it, input and output together; null if it reported none. */
  tokens: count.nullable(),
  turn: sha256Schema,
  held: sha256Schema,
  inputLength: count,
  length: count,
  /** What it continued from. */
  parent: z.strictObject({ kind: z.string(), id: z.string() }).nullable(),
  unusable: z.string().nullable(),
  /** Whether it is a prefix of the Turn, of what was sent last, or of neither. */
  relation: z.enum(["turn", "last-sent", "diverged"]),
  /** Why a request may not continue from it. */
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
  /** The limits of the last run, if it has any. */
  budget: z
    .strictObject({
      maxInputTokens: count.nullable(),
      maxTotalTokens: count.nullable(),
      onExceeded: z.string(),
      /** The last run's endpoint's token count of the Turn; null if there is none. */
      countedTokens: count.nullable(),
      /** All tokens that the conversation has used. */
      usedTokens: count,
    })
    .nullable(),
  changedEvents,
});
export type ShowDocument = z.infer<typeof showDocument>;
