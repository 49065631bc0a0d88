import type { StackDocument, StackFold, StackLayer } from "../../../src/apps/studio/stack-documents.ts";
import { bytes, counted, duration, grouped } from "../format.ts";
import { hueOf } from "../layers.ts";
import { Diamond, RightIcon } from "./icons.tsx";
import { Servers } from "./servers.tsx";
import { BlockRow, isSent } from "./stack-block.tsx";

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
  const style = {
    "--columns": columns.join(" "),
    "--request-column": String(requestColumn),
    "--index": indexWidth(client.blocks),
  };
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

/** Places of blocks have the width of the greatest. */
const indexWidth = (blocks: number): string => (blocks < 990 ? "18px" : blocks < 9_900 ? "34px" : "42px");

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
      <button type="button" class="button" disabled={from + shown >= total} onClick={() => onPage(from + shown)}>
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

/** Unchanged blocks that the server holds. */
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
