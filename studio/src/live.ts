import { signal } from "@preact/signals";
import type { ChangesDocument } from "../../src/apps/studio/page-documents.ts";
import { load } from "./source.ts";

/** How often a visible tab asks what is new, and how often once the studio does not answer. */
const [everyMs, lostMs] = [200, 1_000];

/** The newest revision of each conversation that changed since the page opened. */
export const heads = signal<ReadonlyMap<string, number>>(new Map());

/** Counts changes of the store. */
export const changes = signal(0);

/** Counts the stores that this page has shown: each begins anew. */
export const stores = signal(0);

let after: string | null = null;

/** Begins with another store: nothing that was known holds for it. */
export function followAnew(): void {
  after = null;
  heads.value = new Map();
  stores.value += 1;
}

/** Asks until the page is closed; a hidden tab asks nothing. */
export async function followStore(): Promise<never> {
  for (;;) {
    const isLost = document.visibilityState === "visible" ? !(await ask()) : false;
    await pause(isLost ? lostMs : everyMs);
  }
}

async function ask(): Promise<boolean> {
  try {
    const known = after === null ? "" : `?after=${encodeURIComponent(after)}`;
    const document: ChangesDocument = await load(`/api/changes${known}`);
    ({ after } = document);
    if (document.changed.length > 0)
      heads.value = new Map([
        ...heads.value,
        ...document.changed.map((each) => [each.conversation, each.revision] as const),
      ]);
    if (document.changed.length > 0 || document.hasOrders) changes.value += 1;
    return true;
  } catch {
    return false;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
