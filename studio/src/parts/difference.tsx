import { useSignal } from "@preact/signals";
import type { Piece, TextDifference } from "../../../src/apps/studio/page-documents.ts";
import { counted, grouped } from "../format.ts";

/** A text's difference in place: what went is struck, what came is underlined. */
export function Difference({
  difference,
  hasSizes = true,
}: {
  readonly difference: TextDifference;
  readonly hasSizes?: boolean;
}) {
  const { before, after, pieces, isWhole } = difference;
  const isLong = Math.max(before, after) > 200 && before !== after;
  return (
    <span class="difference">
      {hasSizes && isLong ? (
        <span class="sizes">
          {grouped(before)} → {counted(after, "character")}
          {isWhole ? ", old and new" : ""}
        </span>
      ) : null}
      <span class={`text ${isWhole ? "is-whole" : ""}`}>
        {pieces.map((piece, index) => (
          <PieceText key={index} piece={piece} />
        ))}
      </span>
    </span>
  );
}

function PieceText({ piece: { op, text, more } }: { readonly piece: Piece }) {
  const isOpen = useSignal(false);
  const shown = isOpen.value && more !== null ? text + more.text : text;
  const button =
    more === null || isOpen.value ? null : (
      <>
        {" "}
        <button type="button" class={`more ${op}`} onClick={() => (isOpen.value = true)}>
          {op === "del" ? "−" : "+"} {counted(more.lines, "more line")}
        </button>
      </>
    );
  if (op === "same") return shown;
  return op === "del" ? (
    <>
      <del>{shown}</del>
      {button}
    </>
  ) : (
    <>
      <wbr />
      <ins>{shown}</ins>
      {button}
    </>
  );
}
