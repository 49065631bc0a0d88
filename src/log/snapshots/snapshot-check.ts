import { canonicalJson } from "../../base/canonical-json.ts";
import { messageOf } from "../../base/error-message.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { plainNames } from "../../domain/block-names.ts";
import { changesEarlier } from "../../domain/events/changes-earlier.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { type ServerContextsView, serverContexts } from "../../projections/server-contexts/server-contexts.ts";
import { type ConversationView, savedAnswers } from "../../projections/views/conversation-view.ts";
import { isOfTheStore } from "../codec/recorded.ts";
import { type EventStore, envelopeAt } from "../ports/event-store.ts";
import { type ChunkRef, readChunk } from "./chunks.ts";
import { type ListRef, listKey, listText, snapshotKey } from "./lists.ts";
import type { NameList } from "./names.ts";
import { NamesCheck } from "./names-check.ts";
import { restoreFacts, type SavedFacts, savedFacts } from "./server-context-rows.ts";
import { type SnapshotData, sealedData } from "./snapshot.ts";

/** A snapshot that differs from the events up to its revision. */
export type WrongSnapshot = { readonly revision: number; readonly what: string };

/**
 * Compares all snapshots of a stream with a fold of all its events, while that fold proceeds. Lists that many snapshots share are
 * compared once.
 */
export class SnapshotCheck {
  /** The first snapshot that is wrong. */
  wrong: WrongSnapshot | null = null;
  readonly #events: EventStore;
  readonly #stream: string;
  /** The revisions of snapshots, last first; null until they have been searched for. */
  #revisions: number[] | null = null;
  #lastAt: string | null = null;
  readonly #names = new NamesCheck();
  readonly #ancestors = new Set<string>();
  /** Chunks (by name and digest, also with their place) and contexts (by their text) that were already compared. */
  readonly #compared = new Set<string>();
  /** What the facts of the snapshot before say: most snapshots add to them. */
  #told: ToldFacts;

  constructor(events: EventStore, stream: string) {
    this.#events = events;
    this.#stream = stream;
    this.#told = nothingTold(stream);
  }

  /** The next event, of the stream or an ancestor, and the view after it was applied. */
  async take(recorded: RecordedEvent, view: ConversationView): Promise<void> {
    const { event, stream, revision, at } = recorded;
    if (this.#lastAt === null || at > this.#lastAt) this.#lastAt = at;
    this.#names.take(recorded, view);
    if (stream !== this.#stream) {
      this.#ancestors.add(stream);
      return;
    }
    // Earlier snapshots are no longer used: they may contain what is now left out.
    if (changesEarlier(event)) this.wrong = null;
    try {
      await this.#compareAt(revision, view);
    } catch (error) {
      if (isOfTheStore(error)) throw error;
      this.wrong ??= { revision, what: `it cannot be read (${messageOf(error)})` };
    }
  }

  async #compareAt(revision: number, view: ConversationView): Promise<void> {
    this.#revisions ??= await this.#find();
    // At a skipped event there is nothing to compare.
    while ((this.#revisions.at(-1) ?? revision) < revision) this.#revisions.pop();
    if (this.#revisions.at(-1) !== revision) return;
    this.#revisions.pop();
    const what = this.wrong === null ? await this.#problemAt(revision, view) : null;
    if (what !== null) this.wrong = { revision, what };
  }

  async #find(): Promise<number[]> {
    const revisions: number[] = [];
    for (let last = Number.MAX_SAFE_INTEGER; ; ) {
      const saved = await this.#events.snapshots?.get(snapshotKey(this.#stream), last);
      if (saved === undefined || saved === null) return revisions;
      if (saved.revision > last) throw new Error("the store gives a later one than was asked for");
      revisions.push(saved.revision);
      last = saved.revision - 1;
    }
  }

  /** How a snapshot differs; null if it is right. */
  async #problemAt(revision: number, view: ConversationView): Promise<string | null> {
    const { snapshots } = this.#events;
    const saved = await snapshots?.get(snapshotKey(this.#stream), revision);
    const digest = (await envelopeAt(this.#events, this.#stream, revision))?.digest;
    const data = saved === undefined || saved === null || digest === undefined ? null : sealedData(saved.data, digest);
    if (data === null) return "it was changed, or is of another event";
    return (
      (await this.#turnProblem(view.client.committed, data.turn)) ??
      (await this.#newestProblem(view, data)) ??
      (await this.#factsProblem(view, data)) ??
      this.#ownProblem(view, data)
    );
  }

  /** Compares a Turn with the chunks that list its blocks from an index on. */
  async #turnProblem(turn: Turn, refs: readonly ChunkRef[], from = 0): Promise<string | null> {
    let start = from;
    let before = "";
    // The context at the end covers all before it. So it is enough for chunks that were compared in this order before; where one of them was
    // not, its beginning is compared, too.
    const total = refs.reduce((sum, [, length]) => sum + length, from);
    if (total > turn.length || turn.contextAt(total) !== (refs.at(-1)?.[2] ?? turn.contextAt(from)))
      return "its Turn is another";
    for (const [name, length, digest] of refs) {
      const end = start + length;
      const place = `${start} ${before} ${name} ${digest}`;
      if (this.#compared.has(place)) {
        [start, before] = [end, digest];
        continue;
      }
      if (before !== "" && turn.contextAt(start) !== before) return "its Turn is another";
      // An equal digest means an equal Turn, and so equal blocks: a list that was compared at this digest needs no second check.
      if (!this.#compared.has(`${name} ${digest}`)) {
        const text = await this.#list({ stream: this.#stream, name });
        if (text === undefined) return notThere(name);
        const listed = readChunk(text, { own: this.#stream, names: plainNames, length });
        const isListed = ({ id, kind, recordedAs: own }: Block, index: number): boolean => {
          const block = listed[index];
          return block?.id === id && block.kind === kind && block.recordedAs === own;
        };
        if (!turn.slice(end).after(start).every(isListed)) return "its blocks are others";
        this.#compared.add(`${name} ${digest}`);
      }
      this.#compared.add(place);
      [start, before] = [end, digest];
    }
    return start === turn.length ? null : "its Turn is shorter";
  }

  async #newestProblem(view: ConversationView, data: SnapshotData): Promise<string | null> {
    const { client, newest, latest } = view;
    const answers = savedAnswers(view);
    for (const { scope, inferenceId, shared, rest, isLatest = false } of data.newest) {
      const known = answers.get(scope);
      const isShared = known !== undefined && client.committed.slice(shared).digest === known.turn.slice(shared).digest;
      if (!isShared || known.context.inferenceId !== inferenceId) return `the newest response of ${scope} is another`;
      if (isLatest && latest.get(scope)?.context.inferenceId !== inferenceId)
        return `the newest answer of ${scope} is another`;
      const problem = await this.#turnProblem(known.turn, rest, shared);
      if (problem !== null) return `the newest response of ${scope}: ${problem}`;
    }
    // Older versions saved only answers with an id.
    return [newest.size, answers.size].includes(data.newest.length) ? null : "it knows other endpoints";
  }

  /** Compares what servers hold and have reported, and the names. */
  async #factsProblem({ server }: ConversationView, data: SnapshotData): Promise<string | null> {
    const { newest } = this.#told;
    const added: SavedFacts[] = [];
    let { facts: name } = data;
    for (; name !== null && name !== newest; name = added.at(-1)?.before ?? null) {
      const text = await this.#list({ stream: this.#stream, name });
      const facts = text === undefined ? undefined : savedFacts(text);
      if (facts === undefined) return notThere(name);
      added.push(facts);
    }
    const { view: told, lists } = name === newest ? this.#told : nothingTold(this.#stream);
    // Until all of it was compared, nothing is known to be told.
    this.#told = nothingTold(this.#stream);
    for (const facts of added.reverse()) {
      const { length: first } = told.contexts;
      restoreFacts(told, facts);
      lists.push(...facts.names);
      if (this.#compared.has(facts.contexts)) continue;
      const known = server.contexts.after(first).slice(0, facts.known - first);
      if (canonicalJson([...told.contexts.after(first)]) !== canonicalJson([...known]))
        return "its responses are others";
      this.#compared.add(facts.contexts);
    }
    if (told.contexts.length !== server.contexts.length) return "it knows other responses";
    if (canonicalJson(factsOf(told)) !== canonicalJson(factsOf(server))) return "what endpoints have told is another";
    const problem = await this.#names.problem(lists, (list) => this.#list(list));
    if (problem === null) this.#told = { newest: data.facts, view: told, lists };
    return problem;
  }

  #ownProblem({ client, server, ...view }: ConversationView, data: SnapshotData): string | null {
    const { answeredLength, interrupted, notes, title, labels, spent, origin, lastAt } = data;
    const told = { answeredLength, interrupted, notes, title, labels, spent, origin, lastAt };
    const { completed: _, ...answers } = client.answers;
    const expected: typeof told = {
      ...answers,
      ...{ title: view.title, labels: view.labels },
      spent: view.spent,
      ...{ origin: view.origin, lastAt: this.#lastAt },
    };
    if (canonicalJson(told) !== canonicalJson(expected))
      return "its labels, its times, its tokens or what it says of answers are others";
    if (canonicalJson(data.lostScopes.toSorted()) !== canonicalJson([...server.lostScopes].sort()))
      return "it knows other endpoints that lost all they held";
    const ancestors = data.ancestors.map(([stream]) => stream).sort();
    return canonicalJson(ancestors) === canonicalJson([...this.#ancestors].sort()) ? null : "its ancestors are others";
  }

  /** Undefined if it is missing or changed. If the store cannot be read, nothing is known about it. */
  async #list(ref: ListRef): Promise<string | undefined> {
    return listText(await this.#events.snapshots?.get(listKey(ref), 0), ref);
  }
}

type ToldFacts = {
  /** The name of the list that says the newest of them. */
  readonly newest: string | null;
  readonly view: ServerContextsView;
  readonly lists: NameList[];
};

const nothingTold = (stream: string): ToldFacts => ({ newest: null, view: serverContexts.initial(stream), lists: [] });

const notThere = (name: string): string => `the list ${name} is not there`;

/** What endpoints have reported, besides their responses. */
const factsOf = ({
  declared,
  invalidResponses,
  invalidScopes,
  learned,
  quarantined,
  objects,
  cutObjects,
  unanswered,
}: ServerContextsView): JsonValue => ({
  declared: Object.fromEntries(declared),
  invalidResponses: Object.fromEntries(invalidResponses),
  invalidScopes: Object.fromEntries(invalidScopes),
  learned: Object.fromEntries([...learned].map(([scope, told]) => [scope, Object.fromEntries(told)])),
  quarantined: [...quarantined],
  objects: Object.fromEntries([...objects].map(([scope, { anchor, ...object }]) => [scope, { ...object, anchor }])),
  cutObjects: [...cutObjects],
  unanswered: Object.fromEntries([...unanswered].map(([name, { stream, revision }]) => [name, { stream, revision }])),
});
