import { ByPlace } from "./by-place.ts";
import type { PromptPlace } from "./prompt.ts";

/** A prefix that the server has cached. */
export interface CacheEntry {
  /** The request that wrote it. */
  readonly writtenBy: number;
  endsAt: number;
  lifetimeMs: number;
  /** Whether the answer to a request that wrote it has begun. */
  isReadable: boolean;
  isEvicted: boolean;
}

/** The cached prefixes of a front. Ended and evicted ones remain known, so that a verdict can name them. */
export class CacheEntries {
  readonly #entries = new ByPlace<CacheEntry>();

  at(partition: string, place: PromptPlace | undefined): CacheEntry | undefined {
    return this.#entries.get(partition, place);
  }

  /** Writes an entry, or extends one that can still be read: a longer lifetime replaces a shorter one, never the reverse. */
  write(
    partition: string,
    place: PromptPlace,
    { now, lifetimeMs, writtenBy }: { readonly now: number; readonly lifetimeMs: number; readonly writtenBy: number },
  ): CacheEntry {
    const known = this.at(partition, place);
    const isKept = known !== undefined && isLive(known, now);
    const entry = isKept ? known : { writtenBy, endsAt: now, lifetimeMs, isReadable: false, isEvicted: false };
    entry.lifetimeMs = Math.max(entry.lifetimeMs, lifetimeMs);
    entry.endsAt = Math.max(entry.endsAt, now + lifetimeMs);
    if (!isKept) this.#entries.set(partition, [place], entry);
    return entry;
  }

  evict(): void {
    for (const entry of this.#entries.values()) entry.isEvicted = true;
  }

  clear(): void {
    this.#entries.clear();
  }
}

/** Whether the server still has the entry. */
export const isLive = ({ isEvicted, endsAt }: CacheEntry, now: number): boolean => !isEvicted && endsAt >= now;
