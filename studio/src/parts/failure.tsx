import type { SourceError } from "../source.ts";
import { WarnIcon } from "./icons.tsx";

/** What failed, in its pane: the rest of the page goes on working. */
export function Failure({
  error,
  what,
  retry,
}: {
  readonly error: SourceError;
  readonly what: string;
  readonly retry?: () => void;
}) {
  return (
    <div class="failure" role="alert">
      <p class="failure-title">
        <WarnIcon class="bad" />
        {what}
      </p>
      <p>
        {sentence(error.message)} {error.hint} <span class="code">{error.code}</span>
      </p>
      {retry === undefined ? null : (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** Rows of the height of what will be there. */
export function Skeleton({ rows, height = 28 }: { readonly rows: number; readonly height?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} style={{ height: `${height}px` }}>
          <span class="bone short" />
          <span class={`bone w${(index * 7) % 4}`} />
        </div>
      ))}
    </div>
  );
}
