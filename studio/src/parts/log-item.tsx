import type { LogGroup, LogRow } from "../../../src/apps/studio/page-documents.ts";
import { grouped } from "../format.ts";
import { hueOf } from "../layers.ts";
import { ActorSign, ChainSign, DownIcon, RightIcon } from "./icons.tsx";

/** A row of the log: a message with its run, or an event. */
export type Item =
  | { readonly kind: "group"; readonly group: LogGroup; readonly isOpen: boolean }
  | { readonly kind: "row"; readonly revision: number }
  /** A group that has not come yet. */
  | { readonly kind: "gap"; readonly place: number };

export function GroupRow({
  item,
  top,
  place,
  count,
  onToggle,
}: {
  readonly item: Item & { readonly kind: "group" };
  readonly top: number;
  readonly place: number;
  readonly count: number;
  readonly onToggle: (group: number) => void;
}) {
  const { group, isOpen } = item;
  const isBroken = group.worst === "rebased" || group.worst === "full" || group.worst === "failed";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the list keeps the focus.
    <div
      class="log-row group"
      style={{ top: `${top}px` }}
      role="option"
      aria-selected="false"
      aria-posinset={place + 1}
      aria-setsize={count}
      onClick={() => onToggle(group.from)}
    >
      {isOpen ? <DownIcon /> : <RightIcon />}
      <span class="sr">{isOpen ? "Open: " : "Folded: "}</span>
      <span class="what">{group.words === "" ? "Events without a message" : group.words}</span>
      <span class="value">
        {group.state === "open" ? <span class="live">open</span> : null}
        {!isOpen && isBroken ? <ChainSign verdict={group.worst} label={group.worst} /> : null}
        {grouped(group.from)}
        {group.to === group.from ? "" : `–${grouped(group.to)}`}
      </span>
    </div>
  );
}

/** The place of a group that has not come yet. */
export const GapRow = ({
  top,
  place,
  count,
}: {
  readonly top: number;
  readonly place: number;
  readonly count: number;
}) => (
  // biome-ignore lint/a11y/useFocusableInteractive: the list keeps the focus.
  <div
    class="log-row group"
    style={{ top: `${top}px` }}
    role="option"
    aria-selected="false"
    aria-posinset={place + 1}
    aria-setsize={count}
  >
    <span class="sr">not loaded yet</span>
  </div>
);

type EventRowProps = {
  readonly revision: number;
  readonly row: LogRow | null;
  readonly top: number;
  readonly isSelected: boolean;
  readonly place: number;
  readonly count: number;
  readonly onSelect: (revision: number) => void;
};

export function EventRow({ revision, row, top, isSelected, place, count, onSelect }: EventRowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the list keeps the focus.
    <div
      id={`row-${revision}`}
      class={`log-row ${row?.sign ?? ""}`}
      style={{ top: `${top}px` }}
      role="option"
      aria-selected={isSelected}
      aria-posinset={place + 1}
      aria-setsize={count}
      title={
        row === null ? "" : `r${grouped(revision)} ${row.sentence}${row.problem === null ? "" : `: ${row.problem}`}`
      }
      onClick={() => onSelect(revision)}
    >
      <span class="r">{grouped(revision)}</span>
      {row === null ? null : <RowWords row={row} />}
    </div>
  );
}

function RowWords({ row }: { readonly row: LogRow }) {
  const { sign, layer, layerNumber, words, detail, change, value, verdict, problem } = row;
  const tone = verdict === "rebased" ? "warn" : verdict === "full" ? "bad" : "";
  return (
    <>
      <ActorSign sign={sign} layer={layer} number={layerNumber} />
      <span class={`what ${problem === null ? "" : "bad"}`}>
        {layer === null ? (
          sign === "request" ? (
            <span class="strong">{words}</span>
          ) : (
            words
          )
        ) : (
          <span class={`hue ${hueOf(layer)}`}>{words}</span>
        )}
        {change === null ? "" : ` ${change}`}
        {detail === "" ? null : (
          <span class={tone}>{`${sign === "bad" && problem === null ? ":" : ""} ${detail}`}</span>
        )}
        {problem === null ? null : <>: {problem}</>}
      </span>
      <span class="value">{value}</span>
    </>
  );
}
