import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { InboxDocument, InboxItem, InboxKind } from "../../../src/apps/studio/inbox-documents.ts";
import { printable } from "../../../src/base/printable.ts";
import { age, timeLeft } from "../format.ts";
import { keyOf } from "../inbox.ts";
import { ClockIcon, WarnIcon } from "./icons.tsx";
import { itemTitle } from "./inbox-words.ts";

/** How often ages are told anew. */
const everyMs = 5_000;

/** All that waits, the most urgent first. */
export function InboxList({
  document,
  items,
  current,
  select,
}: {
  readonly document: InboxDocument;
  readonly items: readonly InboxItem[];
  readonly current: InboxItem | null;
  readonly select: (item: InboxItem) => void;
}) {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), everyMs);
    return () => clearInterval(timer);
  }, []);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls has to be reached by keyboard.
    <div class="inbox-list" tabIndex={0} role="region" aria-label="What waits">
      <ul>
        {items.map((item) => (
          <li key={keyOf(item)}>
            <button
              type="button"
              class="inbox-item"
              aria-current={current !== null && keyOf(item) === keyOf(current) ? "true" : undefined}
              onClick={() => select(item)}
            >
              <KindSign kind={item.kind} />
              <span class="strong cut">{printable(itemTitle(item))}</span>
              <span class="when small">{when(item, now.value)}</span>
              <span class="cut about">{item.title}</span>
              <span class="cut small words">{item.words}</span>
            </button>
          </li>
        ))}
      </ul>
      <p class="small text-3 note">
        {items.length === 0 ? "Nothing waits here." : "Nothing else waits."} Runs that are parked, cut off or failed,
        and contexts that expire soon, come here by themselves.
        {document.hasMore ? " More runs wait than are listed here: answer some of these first." : ""}
      </p>
    </div>
  );
}

function when({ expiresAt, since }: InboxItem, now: number): string {
  if (expiresAt === null) return age(since, now);
  return Date.parse(expiresAt) <= now ? "expired" : `${timeLeft(expiresAt, now)} left`;
}

/** What waits is amber; what was lost is red. */
const KindSign = ({ kind }: { readonly kind: InboxKind }) =>
  kind === "cut-off" || kind === "failed" || kind === "elsewhere" ? (
    <WarnIcon class="bad" />
  ) : (
    <ClockIcon class={kind === "external" ? "" : "warn"} />
  );
