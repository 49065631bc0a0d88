import { grouped } from "../format.ts";
import { LeftIcon, RightIcon } from "./icons.tsx";

/** Steps in narrow windows. */
export function BottomBar({
  revision,
  last,
  onSelect,
  onLog,
}: {
  readonly revision: number;
  readonly last: number;
  readonly onSelect: (revision: number) => void;
  readonly onLog: () => void;
}) {
  return (
    <nav class="bottom-bar" aria-label="Step">
      <button type="button" aria-label="Earlier event" disabled={revision === 0} onClick={() => onSelect(revision - 1)}>
        <LeftIcon />
      </button>
      <button type="button" onClick={onLog}>
        <span>
          <span class="strong">r{grouped(revision)}</span> of {grouped(last)} · open the log
        </span>
      </button>
      <button
        type="button"
        aria-label="Later event"
        disabled={revision === last}
        onClick={() => onSelect(revision + 1)}
      >
        <RightIcon />
      </button>
    </nav>
  );
}
