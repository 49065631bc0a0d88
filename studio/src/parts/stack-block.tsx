import type { ComponentChildren } from "preact";
import type { RequestSign, StackDocument, StackEdit, StackRow } from "../../../src/apps/studio/stack-documents.ts";
import { grouped } from "../format.ts";
import { hueOf } from "../layers.ts";
import { blockPath, conversationPath, follow, hrefOf } from "../route.ts";
import { Difference } from "./difference.tsx";

/** A block, from the client’s Turn to the request. */
export function BlockRow({
  row,
  stack,
  revision,
}: {
  readonly row: StackRow;
  readonly stack: StackDocument;
  readonly revision: number;
}) {
  const { layers, request, conversation } = stack;
  const byLayer = Map.groupBy(row.edits, ({ layer }) => layer);
  const path = blockPath(conversation, row.id);
  const firstEdit = row.edits[0]?.layer ?? Number.POSITIVE_INFINITY;
  const cells: ComponentChildren[] = [];
  let touchedBy: string | null = null;
  let isThere = row.client !== null;
  for (const { number, name } of layers) {
    const edits = byLayer.get(number) ?? [];
    const wire =
      isThere || number > firstEdit ? (touchedBy === null ? "wire" : `wire touched ${touchedBy}`) : "wire none";
    cells.push(
      <div
        key={number}
        class={`${isThere ? wire : edits.length > 0 ? "wire none" : wire} ${edits.length > 0 ? "has-card" : ""}`}
      >
        {edits.map((edit) => (
          <Card
            key={edit.change}
            edit={edit}
            name={name}
            row={row}
            conversation={conversation}
            isTarget={edit.revision === revision}
          />
        ))}
      </div>,
    );
    if (edits.length > 0) touchedBy = hueOf(name);
    for (const { change } of edits) isThere = change === "added" ? true : change === "removed" ? false : isThere;
    if (!isThere && edits.length > 0) touchedBy = null;
  }
  return (
    <div class={`stack-row ${row.edits.length > 0 ? "has-edit" : ""}`}>
      <div class="cell client">
        {row.client === null ? null : (
          <>
            <span class="index">{grouped(row.index)}</span>
            <span class="words">
              <a class="label" href={hrefOf(path)} onClick={(event) => follow(event, path)}>
                {row.label}
              </a>{" "}
              {row.client}
            </span>
          </>
        )}
      </div>
      {cells}
      {request === null ? null : <RequestCell row={row} />}
    </div>
  );
}

const signs: Readonly<Record<RequestSign, { readonly mark: string; readonly words: string }>> = {
  held: { mark: "=", words: "held by the server" },
  instructions: { mark: "=", words: "in the instructions" },
  changed: { mark: "≠", words: "changed" },
  again: { mark: "↻", words: "again" },
  new: { mark: "+", words: "new" },
};

function RequestCell({ row }: { readonly row: StackRow }) {
  if (row.request === null)
    return (
      <div class="request-cell is-gone">
        <span class="sign">−</span>
        <span />
        <span class="words">not sent</span>
      </div>
    );
  const { sign, text } = row.request;
  const { mark, words } = signs[sign];
  const isNamed = sign === "changed" || sign === "again";
  return (
    <div class={`request-cell cell ${isSent(sign) ? "sent" : "held"}`}>
      <span class="sign" title={words}>
        <span aria-hidden="true">{mark}</span>
        <span class="sr">{words}</span>
      </span>
      <span class="index">{grouped(row.index)}</span>
      <span class="words">
        {isNamed ? <span class="state">{words} </span> : null}
        <span class="label">{row.label}</span> {text}
      </span>
    </div>
  );
}

const changeWords = { added: "added", removed: "removed", moved: "moved", modified: "" } as const;

type CardProps = {
  readonly edit: StackEdit;
  readonly name: string;
  readonly row: StackRow;
  readonly conversation: string;
  readonly isTarget: boolean;
};

/** What a layer did to a block, with the text's difference in place. */
function Card({ edit, name, row, conversation, isTarget }: CardProps) {
  const { change, difference, revision } = edit;
  const isCode = row.label.startsWith("tool_");
  const to = revision === null ? null : conversationPath(conversation, revision);
  return (
    <div class={`card ${hueOf(name)} ${isCode ? "code-like" : ""} ${isTarget ? "is-target" : ""}`}>
      <span class="layer-title">{name} </span>
      {changeWords[change] === "" ? null : <span class="sizes">{changeWords[change]} </span>}
      {difference === null ? null : <Difference difference={difference} />}
      {to === null ? null : (
        <a
          class="small"
          href={hrefOf(to)}
          aria-label={`Go to the edit at r${revision}`}
          onClick={(event) => follow(event, to)}
        >
          {" "}
          r{grouped(revision ?? 0)}
        </a>
      )}
    </div>
  );
}

/** Whether a block is part of the body. */
export const isSent = (sign: RequestSign): boolean => sign !== "held" && sign !== "instructions";
