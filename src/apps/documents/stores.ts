import * as z from "zod";
import { sha256Schema } from "../../domain/ids.ts";
import { at, conversation, count, dollars, list, place, revision, stream } from "./parts.ts";

/** `turnlog ls` */
export const lsDocument = z.strictObject({
  conversations: list(
    z.strictObject({
      id: conversation,
      title: z.string().nullable(),
      labels: z.record(z.string(), z.string()),
      /** The beginning of the first user message. */
      begins: z.string().nullable(),
      origin: z.enum(["new", "fork", "child", "import"]),
      /** The conversation that it was forked from, or is a child of. */
      parent: z.string().nullable(),
      events: count,
      runs: count,
      /** The open run, what it waits for, and how many of that are calls and effects in doubt. */
      openRun: z
        .strictObject({
          id: z.string(),
          state: z.enum(["running", "cut-off", "elsewhere", "parked"]),
          inDoubt: count,
          /** Everything that it waited for is decided, and no process has continued the run yet. */
          isDecided: z.boolean(),
          waitingFor: list(
            z.strictObject({
              kind: z.enum(["approval", "doubt", "external"]),
              blockId: z.string(),
              name: z.string(),
              since: at,
              expiresAt: at.nullable(),
              /** Why it waits, at most 200 characters of it. */
              reason: z.string().nullable(),
            }),
          ),
        })
        .nullable(),
      /** Whether one of its runs has `losses`. */
      hasLosses: z.boolean(),
      requests: count,
      chained: count,
      rebased: count,
      full: count,
      bytesSent: count,
      bytesSaved: count,
      startedAt: at,
      lastAt: at,
      /** An event could not be applied: `turnlog projections quarantine` says which. */
      isDamaged: z.boolean(),
    }),
  ),
  /** The number of conversations, listed or not; --state is taken for open. */
  total: count,
  /** How many hidden conversations were excluded. */
  hidden: count,
  /** How many of the conversations listed are written as `json`, although the store takes lines. */
  asJson: count,
  /** The value of --after for the next page; null if there is none. */
  next: z.string().nullable(),
});

const billCost = {
  requests: count,
  bytes: count,
  tokens: z.strictObject({ uncached: count, read: count, written: count, output: count, reasoning: count }),
  untold: z.strictObject({ requests: count, contradictory: count, cache: count, misses: count }),
  money: z.strictObject({ total: dollars.nullable(), told: dollars.nullable(), priced: dollars.nullable() }),
  notPriced: list(
    z.strictObject({
      model: z.string().nullable(),
      tier: z.string().nullable(),
      class: z.string(),
      tokens: count,
      why: z.enum(["no-prices", "no-entry", "ambiguous", "no-price"]),
    }),
  ),
};

/** `turnlog bill` */
export const billDocument = z.strictObject({
  by: z.string(),
  since: at.nullable(),
  prices: z
    .strictObject({
      file: z.string(),
      sha256: sha256Schema,
      format: z.enum(["litellm", "models.dev"]),
      entries: list(z.strictObject({ model: z.string(), endpoint: z.string().nullable(), entry: z.string() })),
    })
    .nullable(),
  rows: list(
    z.strictObject({
      name: z.string(),
      ...billCost,
      /** By layer: about how many tokens its changes removed from prompts. */
      removed: z.exactOptional(count),
    }),
  ),
  rest: z.strictObject(billCost),
  total: z.strictObject(billCost),
  skipped: count,
  erased: count.nullable(),
  damaged: count,
});

/** `turnlog projections status` */
export const statusDocument = z.strictObject({
  projections: list(
    z.strictObject({
      name: z.string(),
      version: z.int(),
      /** The version of the rows in use; null if there are none yet. */
      builtVersion: z.int().nullable(),
      events: count,
      behind: count,
      /** Incomplete conversations, and the total number of events that they lack. */
      degraded: count,
      quarantined: count,
    }),
  ),
});

/** `turnlog projections rebuild` */
export const rebuildDocument = z.strictObject({
  rebuilt: list(z.strictObject({ name: z.string(), events: count, degraded: count })),
});

/** `turnlog projections quarantine` */
export const quarantineDocument = z.strictObject({
  degraded: list(
    z.strictObject({
      projection: z.string(),
      conversation: z.string(),
      events: count,
      /** The first of those events. */
      first: list(
        z.strictObject({
          stream,
          revision,
          position: z.string(),
          type: z.string(),
          version: z.int(),
          reason: z.string(),
        }),
      ),
    }),
  ),
});

/** `turnlog projections retry` */
export const retryDocument = z.strictObject({
  retried: list(
    z.strictObject({
      projection: z.string(),
      conversation: z.string(),
      /** How many events it lacks now. */
      events: count,
      /** Whether it lacked some before. */
      wasDegraded: z.boolean(),
    }),
  ),
});

/** `turnlog verify` */
export const verifyDocument = z.strictObject({
  /** Whether nothing is wrong, except for skipped events. */
  isSound: z.boolean(),
  streams: count,
  events: count,
  requests: count,
  problems: list(
    z.strictObject({
      stream,
      conversation: conversation.nullable(),
      revision,
      kind: z.enum(["chain", "head", "unreadable", "fold", "request", "codec", "hole", "snapshot", "view"]),
      message: z.string(),
      /** What to do about it. */
      next: z.string(),
    }),
  ),
  /** Damaged events that an operator skipped. */
  skipped: list(
    z.strictObject({
      ...{ stream, conversation: conversation.nullable(), revision },
      /** What is wrong with it. */
      problem: z.string(),
      reason: z.string(),
    }),
  ),
  /** The file that the heads were saved in. */
  savedHeads: z.string().nullable(),
});

/** `turnlog skip` */
export const skipDocument = z.strictObject({
  ...place,
  /** The events that were skipped now. */
  skipped: list(revision),
  /** The damage that still stops the conversation, as if each damaged event were skipped in turn; at most 100. */
  damage: list(z.strictObject({ stream: stream.nullable(), revision: revision.nullable(), message: z.string() })),
  /** The forks that inherit skipped events, in which this call recorded it. */
  forks: list(conversation),
});

/** `turnlog fork` */
export const forkDocument = z.strictObject({ conversation, parent: conversation, revision });

/** `turnlog copy`, and `turnlog import` of a bundle */
export const copyDocument = z.strictObject({
  /** Each conversation with its head, and the number of its events that the target lacked. */
  conversations: list(z.strictObject({ id: conversation, revision, digest: sha256Schema, events: count })),
  blobs: count,
  events: count,
});

/** `turnlog import` of a chat file */
export const importedChats = z.strictObject({
  conversations: list(
    z.strictObject({
      id: conversation,
      /** The document's own id. */
      document: z.string(),
      /** The number of appended blocks: none if the conversation existed. */
      blocks: count,
    }),
  ),
  malformed: list(z.strictObject({ line: z.int(), message: z.string() })),
});

/** `turnlog import --response` and `--conversation` */
export const importedStored = z.strictObject({
  id: conversation,
  /** The id of the response or the conversation object. */
  source: z.string(),
  /** The responses that it was made from, oldest first; none for a conversation object, which does not name them. */
  responses: list(z.string()),
  blocks: count,
  /** Whether the next request can continue from the last of them. */
  isWhole: z.boolean(),
  /** What the server could not return. */
  lost: list(z.strictObject({ what: z.string(), message: z.string() })),
  /** False if it was imported before. */
  isNew: z.boolean(),
});

/** `turnlog import` */
export const importDocument = z.union([copyDocument, importedChats, importedStored]);

const exportedBundle = z.strictObject({
  file: z.string(),
  conversations: list(conversation),
  streams: count,
  events: count,
  isRedacted: z.boolean(),
});

const exportedSpans = z.strictObject({
  file: z.string(),
  conversations: list(conversation),
  spans: count,
  hasContent: z.boolean(),
});
export type SpansWritten = z.infer<typeof exportedSpans>;

/** `turnlog export` into a file, of a bundle or (`--otlp`) of spans; a bundle on stdout is its own document. */
export const exportDocument = z.union([exportedBundle, exportedSpans]);

/** `turnlog store backup` and `restore` */
export const backupDocument = z.strictObject({
  action: z.enum(["backup", "restore"]),
  file: z.string(),
  store: z.string(),
  storeId: z.string(),
  streams: count,
  events: count,
  bytes: count,
  /** Unfinished copies of a killed backup or restore, which were deleted. */
  removed: z.array(z.string()),
});

/** `turnlog store init`, `migrate` and `grants` */
export const setupDocument = z.strictObject({
  action: z.enum(["init", "migrate", "grants"]),
  store: z.string(),
  /** Null if the statements were only printed. */
  storeId: z.string().nullable(),
  /** The versions of the schema before and after; 0 for a store that was created. */
  from: count,
  to: count,
  /** The roles that got rights. */
  roles: z.strictObject({ writer: z.string().nullable(), reader: z.string().nullable() }),
  /** What was printed instead of executed. */
  statements: z.array(z.string()).nullable(),
});
