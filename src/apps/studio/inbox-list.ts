import { type ListedConversation, listConversations } from "../../analysis/lists/list.ts";
import { listFailed } from "../../analysis/lists/list-related.ts";
import { excerpt } from "../../base/printable.ts";
import { defaultChainPolicy } from "../../engine/options/chain-policy.ts";
import type { EventStore } from "../../log/ports/event-store.ts";
import type { InboxDocument, InboxItem, InboxKind } from "./inbox-documents.ts";
import { type Tail, Tails } from "./inbox-tail.ts";

/** How many conversations with an open run are listed, and how many whose last run failed. */
const [mostOpen, mostFailed] = [300, 300];

/** How many conversations are listed whose answers the server may soon forget, and how long before. */
const [mostExpiring, soonMs] = [50, 2 * 24 * 60 * 60 * 1_000];

/** For how long requests continue from an answer, unless an engine says otherwise. */
export const keptMs = defaultChainPolicy.maxAgeMs;

/** The runs of a store that wait for a person, and the conversations that soon cost more. */
export class Inbox {
  readonly #events: EventStore;
  readonly #tails: Tails;
  readonly #clock: () => number;

  constructor(events: EventStore, clock: () => number = Date.now) {
    this.#events = events;
    this.#tails = new Tails(events);
    this.#clock = clock;
  }

  async document(): Promise<InboxDocument> {
    const open = await listConversations(this.#events, { state: "open", limit: mostOpen }, { clock: this.#clock });
    const failed = await listFailed(this.#events, mostFailed + 1);
    const items = [
      ...(await this.#each(open.conversations, openItems)),
      ...failed.slice(0, mostFailed).flatMap(failedItems),
      ...(await this.#expiring()),
    ];
    const hasMore = open.next !== null || failed.length > mostFailed;
    return { items: items.toSorted(byUrgency), hasMore };
  }

  async #each(
    conversations: readonly ListedConversation[],
    itemsOf: (listed: ListedConversation, tail: Tail) => readonly InboxItem[],
  ): Promise<readonly InboxItem[]> {
    const items: InboxItem[] = [];
    for (const listed of conversations) items.push(...itemsOf(listed, await this.#tails.of(listed)));
    return items;
  }

  async #expiring(): Promise<readonly InboxItem[]> {
    const now = this.#clock();
    const [since, until] = [new Date(now - keptMs), new Date(now - keptMs + soonMs)];
    const range = { since, until, limit: mostExpiring, order: "ascending" } as const;
    const { conversations } = await listConversations(this.#events, range, { clock: this.#clock });
    return this.#each(conversations, (listed, { answeredAt }) => {
      if (listed.openRun !== null || answeredAt === null || answeredAt < since.toISOString()) return [];
      const expiresAt = new Date(Date.parse(answeredAt) + keptMs).toISOString();
      const words = "the server may forget its last answer";
      return [{ ...about(listed), kind: "expiring", words, since: answeredAt, expiresAt }];
    });
  }
}

const about = ({ id, title, begins }: ListedConversation) => ({
  ...{ conversation: id, title: title ?? begins ?? id, name: null, blockId: null, expiresAt: null },
});

/** What an open run waits for, or that no process has it. */
function openItems(listed: ListedConversation, { left }: Tail): readonly InboxItem[] {
  const { openRun, lastAt } = listed;
  if (openRun === null) return [];
  if (openRun.waitingFor.length > 0)
    return openRun.waitingFor.map(({ kind, blockId, name, reason, since, expiresAt }) => {
      const words = excerpt(reason ?? waitingWords[kind], 160);
      return { ...about(listed), kind, blockId, name, since, expiresAt, words };
    });
  const item = { ...about(listed), since: lastAt };
  if (openRun.state === "elsewhere")
    return [{ ...item, kind: "elsewhere", words: "a process on another machine has it" }];
  if (openRun.state !== "cut-off") return [];
  return [{ ...item, kind: "cut-off", words: leftWords[left] }];
}

const leftWords = {
  decided: "everything is decided",
  parked: "no process goes on with it",
  "cut-off": "its process ended",
} as const;

const waitingWords = {
  approval: "",
  doubt: "it had begun when its process ended",
  external: "its result comes from outside",
} as const;

function failedItems({ listed, failure }: Awaited<ReturnType<typeof listFailed>>[number]): readonly InboxItem[] {
  return [{ ...about(listed), kind: "failed", words: failure.message, since: failure.at }];
}

const kinds: readonly InboxKind[] = ["approval", "doubt", "external", "cut-off", "failed", "elsewhere", "expiring"];

function byUrgency(left: InboxItem, right: InboxItem): number {
  const kind = kinds.indexOf(left.kind) - kinds.indexOf(right.kind);
  if (kind !== 0) return kind;
  const time = timeOf(left).localeCompare(timeOf(right));
  return time === 0 ? left.conversation.localeCompare(right.conversation) : time;
}

/** A call that expires comes before one that does not: no time comes after "~". */
const timeOf = ({ kind, since, expiresAt }: InboxItem): string =>
  kind === "approval" ? (expiresAt ?? `~${since}`) : since;
