import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { InboxDocument, InboxItem } from "../../src/apps/studio/inbox-documents.ts";
import { changes, stores } from "./live.ts";
import { load, SourceError } from "./source.ts";

/** What waits; every page shows how much. */
export const inbox = signal<InboxDocument | null>(null);

/** Why it cannot be read. */
export const inboxError = signal<SourceError | null>(null);

/** A run that goes on records many events: it is asked for once a second at most, and now and then because calls expire. */
const [leastMs, everyMs] = [1_000, 30_000];

let askedAt = 0;

export async function refreshInbox(): Promise<void> {
  askedAt = Date.now();
  try {
    inbox.value = await load<InboxDocument>("/api/inbox");
    inboxError.value = null;
  } catch (error) {
    if (error instanceof SourceError) inboxError.value = error;
  }
}

/** Keeps it up to date while a page is shown. */
export function useInbox(): void {
  useEffect(() => {
    const first = setTimeout(() => void refreshInbox(), Math.max(0, askedAt + leastMs - Date.now()));
    const later = setInterval(() => void refreshInbox(), everyMs);
    return () => {
      clearTimeout(first);
      clearInterval(later);
    };
  }, [changes.value, stores.value]);
}

export const keyOf = ({ conversation, blockId, kind }: InboxItem): string => `${conversation} ${blockId ?? kind}`;
