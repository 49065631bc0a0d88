import type { Fault } from "../faults.ts";
import { type JsonObject, valueAt } from "../wire.ts";
import { type Boundaries, boundariesOf, type Write } from "./boundaries.ts";
import { inSteps, isLongEnough, type WrittenTokens, writtenTokens } from "./counts.ts";
import { EarlierPrompts } from "./earlier-prompts.ts";
import { CacheEntries, type CacheEntry, isLive } from "./entries.ts";
import {
  type CacheFacts,
  type CacheFront,
  type CacheOptions,
  cacheFacts,
  isExplicit,
  lifetimeMs,
  lifetimeOf,
} from "./facts.ts";
import { inOrder, type PromptPlace, type PromptUnit, placesOf } from "./prompt.ts";
import { type CacheVerdict, type Situation, verdictOn } from "./verdict.ts";

/** A request whose prompt is read. */
interface CacheRequest {
  readonly body: JsonObject;
  readonly places: readonly PromptPlace[];
  /** Its index among all that the server received. */
  readonly index: number;
  readonly fault: Fault | undefined;
}

/** What a request read from the cache and wrote to it, in tokens. */
export interface CacheUse {
  readonly prompt: number;
  readonly read: number;
  readonly written: WrittenTokens;
  /** Whether the answer reports any of it, and whether it reports what was written. */
  readonly isTold: boolean;
  readonly areWritesTold: boolean;
  readonly verdict: CacheVerdict;
  /** Called when the answer begins: from then on other requests can read what this one wrote. */
  begin(): void;
  /** Also caches the answer, if the front does that: the places of the prompt with its answer. */
  cacheAnswer(places: readonly PromptPlace[]): void;
}

/** The options of a server that its caches use. */
export interface CachingOptions {
  readonly caches?: { readonly [front in CacheFront]?: CacheOptions };
  readonly now?: () => number;
}

/** The prompts that a front has read, and which of their prefixes it still caches. */
export class PromptCache {
  readonly facts: CacheFacts;
  readonly #now: () => number;
  readonly #entries = new CacheEntries();
  // What another machine wrote is never read: the next request comes to this one.
  readonly #elsewhere = new CacheEntries();
  readonly #earlier = new EarlierPrompts();

  constructor(front: CacheFront, { caches, now = Date.now }: CachingOptions) {
    this.facts = cacheFacts(front, caches?.[front]);
    this.#now = now;
  }

  clear(): void {
    this.#entries.clear();
    this.#elsewhere.clear();
    this.#earlier.clear();
  }

  /** The places of a prompt with these units, in the order in which the front reads them, with its settings among them. */
  placesOf(body: JsonObject, units: readonly PromptUnit[]): readonly PromptPlace[] {
    return placesOf(inOrder(this.facts, body, units));
  }

  /** Reads a prompt. The lifetimes of the entries that it reads and writes run from now: the start of the request. */
  use({ body, places, index, fault }: CacheRequest): CacheUse {
    const { facts } = this;
    if (fault?.kind === "evict") this.#entries.evict();
    const lifetime = lifetimeOf(body, facts);
    const partition = JSON.stringify(facts.separatedBy.map((path) => valueAt(body, path)));
    const boundaries = boundariesOf(places, facts, { lifetime, isExplicit: isExplicit(body) });
    const writes = boundaries.writes.filter(({ at }) => isLongEnough(places[at], facts));
    const isColdMachine = fault?.kind === "cold-machine";
    const situation = this.#situation({ places, partition, boundaries, isColdMachine });
    const { now, read } = situation;
    const prompt = places.at(-1)?.tokens ?? 0;
    const readTokens = inSteps(places[read]?.tokens ?? 0, facts);
    const written = writtenTokens(places, writes, { read, readTokens });
    const isTold = facts.isReported && fault?.kind !== "untold";
    const verdict = verdictOn(situation, { tokens: { prompt, read: readTokens, written: written.all }, isTold });
    const refreshed = situation.entryAt(read);
    // By the entry's own lifetime, whatever lifetime this request asks for.
    if (refreshed !== undefined) refreshed.endsAt = Math.max(refreshed.endsAt, now + refreshed.lifetimeMs);
    const machine = isColdMachine ? this.#elsewhere : this.#entries;
    const write = (place: PromptPlace | undefined, name: string): readonly CacheEntry[] =>
      place === undefined
        ? []
        : [machine.write(partition, place, { now, lifetimeMs: lifetimeMs(facts, name), writtenBy: index })];
    const made = writes.flatMap(({ at, lifetime: name }) => write(places[at], name));
    this.#earlier.add(partition, {
      places,
      index,
      hasBoundary: boundaries.writes.length > 0,
      lastWrite: lastOf(writes),
    });
    return {
      ...{ prompt, read: readTokens, written, isTold, areWritesTold: isTold && facts.reportsWrites, verdict },
      begin() {
        for (const each of made) each.isReadable = true;
      },
      cacheAnswer(all) {
        // A compaction in the answer replaces the prompt.
        const isLonger = all[places.length - 1]?.digest === places.at(-1)?.digest;
        const said = facts.cachesAnswers && isLonger ? all.slice(places.length) : [];
        for (const place of said.filter((each) => isLongEnough(each, facts)))
          for (const entry of write(place, lifetime)) entry.isReadable = true;
      },
    };
  }

  #situation(asked: {
    readonly places: readonly PromptPlace[];
    readonly partition: string;
    readonly boundaries: Boundaries;
    readonly isColdMachine: boolean;
  }): Situation {
    const { places, partition, boundaries, isColdMachine } = asked;
    const now = this.#now();
    const entryAt = (place: number): CacheEntry | undefined => this.#entries.at(partition, places[place]);
    const canRead = (place: number): boolean => {
      const entry = boundaries.looksAt(place) ? entryAt(place) : undefined;
      return entry?.isReadable === true && isLive(entry, now);
    };
    return {
      ...{ places, boundaries, isColdMachine, now, entryAt },
      elsewhereAt: (place) => this.#elsewhere.at(partition, places[place]),
      read: isColdMachine ? -1 : places.findLastIndex((_, place) => canRead(place)),
      isFirst: this.#earlier.isEmpty,
      shared: this.#earlier.nearest(partition, places),
      sharedElsewhere: this.#earlier.nearestAnywhere(places),
    };
  }
}

const lastOf = (writes: readonly Write[]): number => writes.at(-1)?.at ?? -1;
