import type { Actor } from "../../domain/actor.ts";
import type { WhatIfChoices } from "./what-if-documents.ts";

/*
 * What the studio's page reads beyond the documents of commands. The page imports these types, so both sides change together.
 */

/** How a request was sent. `whole`: everything, because the endpoint or the caller wants it so; `full`: everything, because a chain ended. */
export type Verdict = "first" | "chained" | "rebased" | "full" | "whole" | "aside" | "failed";

export type StoreDocument = {
  /** The address without credentials. */
  readonly address: string;
  readonly isWritable: boolean;
  /** Under which name decisions are recorded, and the module of the engine that goes on with runs; null if the studio only reads. */
  readonly writing: { readonly as: string; readonly stack: string } | null;
  /** The stacks to ask what would have been; null without one. */
  readonly whatIf: WhatIfChoices | null;
  /** The file of a report of the regression lab; null without one. */
  readonly report: string | null;
  /** Whether texts are masked. */
  readonly isRedacted: boolean;
  readonly version: string;
  /** The price file that sums of money are made with; null without one. */
  readonly prices: string | null;
};

/** A request on the strip: one cell. */
export type StripRequest = {
  readonly revision: number;
  readonly verdict: Verdict;
  /** The bytes of its body, and about how many more the server held. */
  readonly bytes: number;
  readonly heldBytes: number;
  /** Null if the answer did not say, or has not come. */
  readonly tokens: TokensOfRequest | null;
  /** Why it read from the prompt cache what it read; null without an answer. */
  readonly cache: CacheVerdict | null;
  /** In dollars, as decimal text: what it cost, and what its miss cost more than reading would have; null without prices. */
  readonly money: string | null;
  readonly missMoney: string | null;
  /** From the request to its answer; null without one. */
  readonly ms: number | null;
};

export type TokensOfRequest = {
  readonly input: number;
  /** Null if the provider does not say what it read from its cache. */
  readonly read: number | null;
  readonly written: number;
  /** How many of the input a cache had, and were paid for again: `lost` of `turnlog cache`. */
  readonly again: number;
  readonly output: number;
};

/** A cause of `turnlog cache`, and who changed the prompt: `redact@1.2.0` for a layer. */
export type CacheVerdict = { readonly cause: string; readonly author: string | null };

/** A message or a run of the log: it folds to one row. */
export type LogGroup = {
  readonly from: number;
  readonly to: number;
  readonly words: string;
  /** The worst of its requests. */
  readonly worst: Verdict | null;
  readonly state: "done" | "open" | "failed";
};

type LayerName = { readonly name: string; readonly isOwn: boolean };

/** A part of a list that only grows, and how long the list is. */
export type Part<Item> = { readonly from: number; readonly total: number; readonly items: readonly Item[] };

/**
 * A request in few bytes, because there are thousands: revision, verdict (its place in `verdicts`), bytes, held bytes, milliseconds; then tokens:
 * input, output, read, written, again; the place of its cache verdict; -1 for what is not known. With prices, its money follows.
 */
export type PackedRequest = readonly [
  ...(readonly [number, number, number, number, number, number, number, number, number, number, number]),
  ...(readonly (string | null)[]),
];

/** A group in few bytes: from, to, words, the place of its state, and that of its worst verdict; -1 for none. */
export type PackedGroup = readonly [number, number, string, number, number];

export const groupStates = ["done", "open", "failed"] as const satisfies readonly LogGroup["state"][];

/** A part of the strip: requests, and the cache verdicts that they name by place. */
export type RequestsPage = Part<PackedRequest> & { readonly caches: readonly CacheVerdict[] };

/** What all requests of a conversation come to. */
export type Totals = {
  /** The greatest request with what the server held for it, and the greatest input: the scales of the strip. */
  readonly mostBytes: number;
  readonly mostTokens: number;
  readonly chained: number;
  readonly bytes: number;
  readonly heldBytes: number;
  readonly ms: number;
  /** As `turnlog cache` adds up: of the requests whose providers report what they read. */
  readonly cache: { readonly requests: number; readonly input: number; readonly read: number; readonly lost: number };
  readonly written: number;
  /** Requests whose tokens no provider told: they may have cost something. */
  readonly untold: number;
  readonly money: string | null;
  readonly missMoney: string | null;
};

export const verdicts = [
  "first",
  "chained",
  "rebased",
  "full",
  "whole",
  "aside",
  "failed",
] as const satisfies readonly Verdict[];

/** A conversation as its page needs it first. */
export type OverviewDocument = {
  readonly conversation: string;
  readonly title: string | null;
  /** The beginning of its first message. */
  readonly begins: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly parent: { readonly conversation: string; readonly revision: number | null } | null;
  readonly events: number;
  /** The digest of the newest event. */
  readonly digest: string;
  /** The newest event that erased content of earlier ones, or left one out: rows read before it are out of date. Null if there is none. */
  readonly rewritten: number | null;
  readonly runs: number;
  readonly isOpen: boolean;
  /** In the order in which runs name them, the engine's own first. */
  readonly layers: readonly LayerName[];
  readonly totals: Totals;
  /** The newest groups and requests, or those from a place on that the page asks for; others come in pages of their own. */
  readonly groups: Part<PackedGroup>;
  readonly requests: RequestsPage;
  /** The first event that cannot be read or followed: what the conversation was from there on is unknown. */
  readonly damage: {
    readonly revision: number;
    /** What is wrong with it, as a sentence without its end: `Event r20 cannot be read`. */
    readonly title: string;
    readonly message: string;
  } | null;
};

export type RowSign = "user" | "app" | "engine" | "layer" | "tool" | "request" | "answer" | "bad" | "hole";

/** An event of the log, in few words. */
export type LogRow = {
  readonly revision: number;
  readonly at: string;
  readonly type: string;
  readonly sign: RowSign;
  /** The layer whose row it is. */
  readonly layer: string | null;
  readonly layerNumber: number | null;
  /** What it is about, and what follows in lighter type. */
  readonly words: string;
  readonly detail: string;
  /** Of a row of a layer: `~`, `+` or `−`. */
  readonly change: string | null;
  /** At the right: bytes, tokens, milliseconds, `on`, `back`. */
  readonly value: string;
  readonly verdict: Verdict | null;
  /** The whole sentence, as `turnlog log` prints it. */
  readonly sentence: string;
  readonly problem: string | null;
};

export type LogPage = { readonly from: number; readonly total: number; readonly rows: readonly LogRow[] };

/** A piece of a text's difference. */
export type Piece = {
  readonly op: "same" | "del" | "ins";
  readonly text: string;
  /** What of it is folded away. */
  readonly more: { readonly text: string; readonly lines: number } | null;
};

export type TextDifference = {
  /** In characters. */
  readonly before: number;
  readonly after: number;
  /** Old and new whole, because too little is shared. */
  readonly isWhole: boolean;
  readonly pieces: readonly Piece[];
};

/** A page of a request's body: indented JSON, by lines. */
export type BodyDocument = {
  readonly conversation: string;
  readonly revision: number;
  readonly sha256: string;
  readonly bytes: number;
  readonly encoder: string;
  readonly transport: string;
  readonly from: number;
  readonly total: number;
  readonly lines: readonly string[];
};

/** What took how long in a run. */
export type TimeDocument = {
  readonly conversation: string;
  readonly runId: string | null;
  readonly from: number;
  readonly to: number;
  readonly startedAt: string;
  readonly ms: number;
  readonly isOpen: boolean;
  /** How many spans the run has; those around the revision follow. */
  readonly total: number;
  readonly spans: readonly Span[];
};

export type Span = {
  readonly revision: number;
  readonly sign: RowSign;
  readonly name: string;
  readonly layerNumber: number | null;
  readonly verdict: Verdict | null;
  /** From the beginning of the run. */
  readonly fromMs: number;
  /** Null while it lasts. */
  readonly ms: number | null;
  readonly isFailure: boolean;
};

export type ChangesDocument = {
  /** Pass it as `after` next time. */
  readonly after: string;
  /** The conversations with new events, and their newest revisions. */
  readonly changed: readonly { readonly conversation: string; readonly revision: number }[];
  /** Whether something new is recorded of orders to erase. */
  readonly hasOrders: boolean;
};

/** Requests of conversations, one letter each, of several the worst: `f` first, `c` chained, `r` rebased, `x` full, `w` whole. */
export type ChainsDocument = { readonly chains: Readonly<Record<string, string>> };

export type ErrorDocument = {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string };
};

/** Where the next event of a kind is. */
export type FindDocument = {
  readonly what: "edit" | "answer" | "break" | "turn" | "miss";
  readonly revision: number | null;
};

/** The last verification of a conversation by this studio; null if there was none. */
export type VerifiedDocument = {
  /** False where texts are masked. */
  readonly isPossible: boolean;
  readonly last: {
    readonly at: string;
    readonly isSound: boolean;
    /** The newest event that was checked, or the one that failed. */
    readonly revision: number;
    readonly problem: string | null;
  } | null;
};

/** What changed between two revisions, by texts. */
export type DiffPage = {
  readonly from: { readonly revision: number };
  readonly to: { readonly revision: number };
  /** How many blocks differ; the texts of the first ones follow. */
  readonly changes: number;
  readonly texts: readonly ChangedText[];
};

/** A change of a block, with the text's difference. */
export type ChangedText = {
  readonly what: "added" | "removed" | "changed" | "moved";
  readonly id: string;
  readonly index: number;
  readonly label: string;
  readonly by: Actor | null;
  readonly difference: TextDifference | null;
};
