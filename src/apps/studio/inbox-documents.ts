import type { WaitingItem } from "../documents/parts.ts";

/*
 * What the page reads about runs that wait for a person, and what it may do about them.
 */

/**
 * Why a conversation waits: for a decision, for the outcome of a call, for a result from outside; its run was cut off, or belongs to a process on
 * another machine; its last run failed; or the server may soon forget its last answer.
 */
export type InboxKind = "approval" | "doubt" | "external" | "cut-off" | "elsewhere" | "failed" | "expiring";

export type InboxItem = {
  readonly kind: InboxKind;
  readonly conversation: string;
  readonly title: string;
  /** Of a call or an effect: its name and its id. */
  readonly name: string | null;
  readonly blockId: string | null;
  /** The reason that the tool gave, or what is known. */
  readonly words: string;
  readonly since: string;
  readonly expiresAt: string | null;
};

export type InboxDocument = {
  /** Those that expire first, then by kind, the oldest first. */
  readonly items: readonly InboxItem[];
  /** Whether more conversations have an open run, or one that failed, than are listed. */
  readonly hasMore: boolean;
};

/** One thing that waits, with all that a person needs to decide it. */
export type InboxItemDocument = {
  readonly conversation: string;
  readonly title: string;
  /** The newest revision. */
  readonly revision: number;
  /** The open run; null if there is none. */
  readonly run: {
    readonly id: string;
    readonly startedAt: string;
    readonly startedRevision: number;
    /** Whether a decision came last, a process parked it, or it was cut off. */
    readonly left: "decided" | "parked" | "cut-off";
    /** The machine and the process that it belongs to. */
    readonly owner: { readonly host: string; readonly pid: number } | null;
    readonly resumptions: number;
  } | null;
  /** The call that was asked for, as `turnlog show` has it; null if it does not wait any more. */
  readonly waiting: WaitingItem | null;
  /** How much else the run waits for. */
  readonly others: number;
  /** Calls and effects that had begun, with an unknown outcome. */
  readonly begun: readonly { readonly blockId: string; readonly name: string }[];
  /** The last blocks of the Turn, up to the call. */
  readonly led: readonly LedBlock[];
  /** Of a run that failed: where, and why. */
  readonly failure: { readonly revision: number; readonly message: string; readonly by: string | null } | null;
  /** When the server answered last. */
  readonly answeredAt: string | null;
  /** Whether this studio goes on with a run of it now; and why the last attempt of this studio ended without a record. */
  readonly isGoing: boolean;
  readonly problem: string | null;
};

export type LedBlock = { readonly index: number; readonly id: string; readonly label: string; readonly text: string };

/** What came of an answer. */
export type ActedDocument = {
  readonly conversation: string;
  readonly did: "approve" | "edit" | "deny" | "settle" | "resume" | "run" | "abandon";
  /** False if the same had been recorded before. */
  readonly isNew: boolean;
  /** `waits`: for more decisions; `going`: the run goes on; `done`: it has ended; `stopped`: what was decided is recorded, and the run did not go on. */
  readonly state: "waits" | "going" | "done" | "stopped";
  /** How many more it waits for. */
  readonly waitsFor: number;
  /** Why a run that stopped did not go on; null otherwise. */
  readonly problem: string | null;
};
