import type { TextDifference, Verdict } from "./page-documents.ts";

/* What the page reads of one request, from the client's Turn to the answer. */

/** What a layer did to a block. */
export type StackEdit = {
  readonly layer: number;
  readonly change: "modified" | "added" | "removed" | "moved";
  readonly difference: TextDifference | null;
  /** The event that recorded it; null if it is an idle pass's neighbour. */
  readonly revision: number | null;
};

export type RequestSign = "held" | "changed" | "again" | "new" | "instructions";

export type StackRow = {
  readonly kind: "block";
  readonly id: string;
  /** In the request, or if it is not in it, in the client's Turn. */
  readonly index: number;
  readonly label: string;
  /** The beginning of its text in the client's Turn; null if it is not there. */
  readonly client: string | null;
  readonly edits: readonly StackEdit[];
  /** Null if it is not in the request. */
  readonly request: { readonly sign: RequestSign; readonly text: string } | null;
  readonly characters: number;
};

export type StackFold = {
  readonly kind: "fold";
  readonly from: number;
  readonly to: number;
  readonly sign: RequestSign;
};

export type StackLayer = {
  readonly number: number;
  readonly name: string;
  readonly version: string;
  readonly isOwn: boolean;
  readonly changed: number;
  readonly ms: number | null;
};

export type BannerPart = { readonly layer: string; readonly number: number | null } | string;

export type Banner = {
  readonly tone: "none" | "warn" | "bad";
  readonly verdict: Verdict | "nothing";
  readonly title: readonly BannerPart[];
  readonly text: string;
  readonly edit: number | null;
  readonly block: { readonly id: string; readonly index: number } | null;
};

export type HeldContext = {
  readonly responseId: string;
  readonly conversation: string;
  readonly revision: number;
  readonly blocks: number;
  readonly isAnchor: boolean;
  readonly isBad: boolean;
  readonly verdict: string;
  readonly state: "confirmed" | "assumed" | "expired" | "unknown";
};

/** The stack at a revision: from the client's Turn through the layers to the request and its answer. */
export type StackDocument = {
  readonly conversation: string;
  readonly revision: number;
  readonly banner: Banner;
  readonly client: { readonly blocks: number; readonly revision: number };
  readonly layers: readonly StackLayer[];
  readonly request: {
    /** Among all requests of the conversation, from 0. */
    readonly place: number;
    readonly revision: number;
    readonly verdict: Verdict;
    readonly blocks: number;
    readonly blocksSent: number;
    readonly bytes: number;
    /** About how many more the server held. */
    readonly heldBytes: number;
    /** The response that it continues from, and the blocks that the server holds under it. */
    readonly anchor: { readonly id: string; readonly blocks: number } | null;
    readonly model: string | null;
  } | null;
  readonly answer: {
    readonly revision: number;
    readonly isFailure: boolean;
    readonly words: string;
    /** Of the answer; null if the provider did not say. */
    readonly tokens: number | null;
    readonly ms: number;
    readonly blocks: readonly { readonly index: number; readonly label: string; readonly text: string }[];
  } | null;
  readonly rows: readonly (StackRow | StackFold)[];
  /** The place of the first of these rows among all, and how many there are. */
  readonly from: number;
  readonly total: number;
  readonly contexts: readonly HeldContext[];
  readonly moreContexts: number;
};
