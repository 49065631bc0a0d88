import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type {
  HeldContext,
  RequestSign,
  StackDocument,
  StackEdit,
  StackFold,
  StackLayer,
  StackRow,
} from "../../../src/studio/page-documents.ts";
import { bytes, counted, duration, grouped } from "../format.ts";
import { hueOf } from "../layers.ts";
import { blockPath, conversationPath, follow } from "../route.ts";
import { Difference } from "./difference.tsx";
import { ChainSign, CheckIcon, Diamond, RightIcon } from "./icons.tsx";

type StackProps = {
  readonly stack: StackDocument;
  /** The event that the reader looks at: its card is marked. */
  readonly revision: number;
  readonly onOpen: (from: number) => void;
  readonly onPage: (from: number) => void;
};

/** From the client's Turn through the layers to the request and its answer: a block is on one line all the way. */
export function Stack({ stack, revision, onOpen, onPage }: StackProps) {
  const { layers, request, answer, rows, client, from, total } = stack;
  const columns = [
    "minmax(190px, 1.15fr)",
    ...layers.map(({ changed }) => (changed === 0 ? "24px" : "minmax(140px, 1fr)")),
    ...(request === null ? [] : ["minmax(200px, 1.15fr)"]),
    ...(answer === null ? [] : ["minmax(110px, 0.65fr)"]),
  ];
  const requestColumn = layers.length + 2;
  const firstSent = rows.findIndex((row) => row.kind === "block" && row.request !== null && isSent(row.request.sign));
  const style = { "--columns": columns.join(" "), "--request-column": String(requestColumn) };
  const pager = <Pager from={from} shown={rows.length} total={total} onPage={onPage} />;
  return (
    <>
      <div class="stack-scroll">
        {from > 0 ? pager : null}
        <div class="stack" style={style}>
          <Heads stack={stack} />
          {request?.anchor == null ? null : (
            <div class="stack-note">
              held by <span class="mono">{request.anchor.id.slice(0, 14)}</span>,{" "}
              {counted(request.anchor.blocks, "block")}
            </div>
          )}
          {rows.map((row, index) => (
            <>
              {index === firstSent && request?.anchor != null ? <div class="stack-cutline">sent from here</div> : null}
              {row.kind === "fold" ? (
                <FoldRow key={`f${row.from}`} row={row} layers={layers.length} onOpen={onOpen} />
              ) : (
                <BlockRow key={row.id} row={row} stack={stack} revision={revision} />
              )}
            </>
          ))}
          {answer === null || from + rows.length < total ? null : <AnswerRows stack={stack} />}
        </div>
        {total > rows.length ? pager : null}
        {rows.length === 0 ? (
          <p class="empty text-3">The client’s Turn has no block here: {counted(client.blocks, "block")}.</p>
        ) : null}
      </div>
      <Servers stack={stack} />
    </>
  );
}

const isSent = (sign: RequestSign): boolean => sign !== "held" && sign !== "instructions";

function Pager({
  from,
  shown,
  total,
  onPage,
}: {
  readonly from: number;
  readonly shown: number;
  readonly total: number;
  readonly onPage: (from: number) => void;
}) {
  const size = 60;
  return (
    <div class="stack-pager">
      <button type="button" class="button" disabled={from === 0} onClick={() => onPage(Math.max(0, from - size))}>
        Earlier rows
      </button>
      <span>
        rows {grouped(from + 1)} to {grouped(from + shown)} of {grouped(total)}
      </span>
      <button type="button" class="button" disabled={from + shown >= total} onClick={() => onPage(from + size)}>
        Later rows
      </button>
    </div>
  );
}

function Heads({ stack: { client, layers, request, answer } }: { readonly stack: StackDocument }) {
  return (
    <div class="stack-head">
      <div>
        <h3>Client Turn</h3>
        <p>
          {counted(client.blocks, "block")} at r{grouped(client.revision)}
        </p>
      </div>
      {layers.map((layer) => (
        <LayerHead key={layer.number} layer={layer} />
      ))}
      {request === null ? null : (
        <div>
          <h3>Request r{grouped(request.revision)}</h3>
          <p class="cut">
            {grouped(request.blocksSent)} of {counted(request.blocks, "block")}, {bytes(request.bytes)}
            {request.heldBytes === 0 ? "" : ` of about ${bytes(request.bytes + request.heldBytes)}`}
          </p>
        </div>
      )}
      {answer === null ? null : (
        <div>
          <h3>
            {answer.isFailure ? "Failure" : "Answer"} r{grouped(answer.revision)}
          </h3>
          <p class={answer.isFailure ? "bad" : ""}>{answerWords(answer)}</p>
        </div>
      )}
    </div>
  );
}

const answerWords = ({ words, tokens, ms }: NonNullable<StackDocument["answer"]>): string =>
  [words, tokens === null ? "" : counted(tokens, "token"), duration(ms)].filter((each) => each !== "").join(", ");

function LayerHead({ layer: { name, number, version, changed, ms } }: { readonly layer: StackLayer }) {
  const took = ms === null ? "" : `, ${ms < 10 ? ms.toFixed(2) : grouped(ms)} ms`;
  if (changed === 0)
    return (
      <div class="layer-idle" title={`${name}@${version} passed it on${took}`}>
        <Diamond name={name} number={number} isIdle />
        <span class="sr">{name} passed it on</span>
      </div>
    );
  return (
    <div class={`hue ${hueOf(name)}`} title={`${name}@${version}`}>
      <div class="layer-name">
        <Diamond name={name} number={number} />
        <h3 class="cut">{name}</h3>
      </div>
      <p class="cut">
        {grouped(changed)} changed{took}
      </p>
    </div>
  );
}

/** Blocks that nobody changed and the server holds. */
function FoldRow({
  row,
  layers,
  onOpen,
}: {
  readonly row: StackFold;
  readonly layers: number;
  readonly onOpen: (from: number) => void;
}) {
  const { from, to, sign } = row;
  const blocks = to - from + 1;
  return (
    <div class="stack-row fold">
      <div class="client">
        <button type="button" class="fold-button" aria-expanded="false" onClick={() => onOpen(from)}>
          <RightIcon /> {grouped(from)}–{grouped(to)}, {counted(blocks, "block")} as they were
        </button>
      </div>
      {Array.from({ length: layers }, (_, index) => (
        <div key={index} class="wire triple" />
      ))}
      <div class="request-cell held">
        <span class="sign">=</span>
        <span />
        <span class="words">
          {grouped(from)}–{grouped(to)}, {sign === "instructions" ? "in the instructions" : counted(blocks, "block")}
        </span>
      </div>
    </div>
  );
}

function BlockRow({
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
              <a class="label" href={path} onClick={(event) => follow(event, path)}>
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
        <span class="label">{row.label}</span> {isNamed ? <span class="state">{words} </span> : null}
        {text}
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
        <a class="small" href={to} aria-label={`Go to the edit at r${revision}`} onClick={(event) => follow(event, to)}>
          {" "}
          r{grouped(revision ?? 0)}
        </a>
      )}
    </div>
  );
}

function AnswerRows({ stack: { answer, layers, conversation } }: { readonly stack: StackDocument }) {
  return (
    <>
      <div class="answer-note">answered at r{grouped(answer?.revision ?? 0)}</div>
      {answer?.blocks.map(({ index, label, text }) => (
        <div key={index} class="stack-row">
          <div class="cell client" />
          {layers.map(({ number }) => (
            <div key={number} class="wire none" />
          ))}
          <div class="request-cell" />
          <div class="cell answer-cell">
            <span class="index">{grouped(index)}</span>
            <span class="words">
              <span class="label">{label}</span> {text}
            </span>
          </div>
        </div>
      ))}
      <span class="sr">{conversation}</span>
    </>
  );
}

/** What servers held when this was planned, newest first. */
function Servers({ stack: { contexts, moreContexts, conversation } }: { readonly stack: StackDocument }) {
  const isAll = useSignal(false);
  if (contexts.length === 0) return null;
  const states = new Set(contexts.map(({ state }) => state));
  return (
    <section class="servers" aria-label="Servers hold">
      <span class="text-3">Servers hold</span>
      {contexts.slice(0, isAll.value ? contexts.length : 3).map((context) => (
        <Context key={context.responseId} context={context} own={conversation} />
      ))}
      <span class="state">
        {moreContexts > 0 ? `${grouped(moreContexts)} older, ` : ""}
        {states.size === 1
          ? `${contexts.length === 2 ? "both" : contexts.length === 1 ? "" : "all"} ${[...states][0] ?? ""}`
          : "states differ"}
      </span>
    </section>
  );
}

function Context({ context, own }: { readonly context: HeldContext; readonly own: string }) {
  const { responseId, revision, blocks, isAnchor, isBad, verdict, conversation } = context;
  return (
    <span class="context">
      {isAnchor ? <CheckIcon /> : isBad ? <ChainSign verdict="rebased" /> : <ChainSign verdict="chained" />}
      <span class="mono">{responseId.slice(0, 14)}</span>
      <span class="text-2">
        {conversation === own ? "" : `${conversation} `}r{grouped(revision)}, {counted(blocks, "block")}
      </span>
      <span>{verdict}</span>
    </span>
  );
}
