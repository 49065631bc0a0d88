import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { StripRequest, Verdict } from "../../../src/studio/page-documents.ts";
import { bytes, duration, grouped, sumOfBytes } from "../format.ts";
import type { Overview } from "../overview.ts";
import { ChainSign } from "./icons.tsx";

type StripProps = {
  readonly overview: Overview;
  /** The index of the request that the page shows. */
  readonly current: number;
  readonly onSelect: (index: number) => void;
};

/** A cell has at most this width, words from the second on, a sign from the third on; below, requests share bars. */
const [mostWidth, wordsFrom, signFrom] = [116, 96, 12];

/** All requests: how each was sent, what the server held, what was read from a cache, and what it took. */
export function Strip({ overview, current, onSelect }: StripProps) {
  const { requests } = overview;
  const area = useRef<HTMLDivElement>(null);
  const width = useWidth(area);
  const isNarrow = innerWidth < 820;
  const fitting = requests.length === 0 ? mostWidth : Math.min(mostWidth, Math.max(width, 1) / requests.length);
  const cell = isNarrow ? Math.max(90, Math.min(fitting, mostWidth)) : fitting;
  useKeepInView(area, current * cell, cell);
  if (requests.length === 0)
    return (
      <section class="strip" aria-label="Requests">
        <p class="strip-empty">No requests yet</p>
      </section>
    );
  const most = Math.max(1, ...requests.map((request) => request.bytes + request.heldBytes));
  const mostTokens = Math.max(1, ...requests.map(({ tokens }) => tokens?.input ?? 0));
  const request = requests[current];
  return (
    <section class="strip" aria-label="Requests">
      <div class="strip-names" aria-hidden="true">
        <span>{cell < signFrom ? "" : "Chain"}</span>
        <span>Sent, held</span>
        <span>Cache</span>
        <span>{cell >= wordsFrom ? "Bytes, time" : ""}</span>
      </div>
      <div class="strip-cells" ref={area}>
        <div class="strip-track" style={{ width: `${cell * requests.length}px`, "--cell": `${cell}px` }}>
          {cell < signFrom ? (
            <Bars
              requests={requests}
              most={most}
              mostTokens={mostTokens}
              current={current}
              width={cell * requests.length}
            />
          ) : (
            requests.map((each, index) => (
              <Cell
                key={each.revision}
                request={each}
                most={most}
                mostTokens={mostTokens}
                isCurrent={index === current}
                hasWords={cell >= (isNarrow ? 88 : wordsFrom)}
              />
            ))
          )}
          <input
            class="strip-range"
            type="range"
            min={0}
            max={Math.max(0, requests.length - 1)}
            step={1}
            value={current}
            aria-label="Request"
            aria-valuetext={
              request === undefined
                ? ""
                : `request ${current + 1} of ${requests.length}, revision ${request.revision}, ${request.verdict}, ${bytes(request.bytes)} sent`
            }
            onInput={(event) => onSelect(Number(event.currentTarget.value))}
            onClick={(event) => {
              const { left } = event.currentTarget.getBoundingClientRect();
              if (event.detail > 0)
                onSelect(Math.min(requests.length - 1, Math.max(0, Math.floor((event.clientX - left) / cell))));
            }}
          />
        </div>
      </div>
      <Totals overview={overview} />
    </section>
  );
}

type CellProps = {
  readonly request: StripRequest;
  readonly most: number;
  readonly mostTokens: number;
  readonly isCurrent: boolean;
  readonly hasWords: boolean;
};

const barsHeight = 40;

function Cell({ request, most, mostTokens, isCurrent, hasWords }: CellProps) {
  const { verdict, revision, heldBytes, tokens, ms } = request;
  return (
    <div
      class={`strip-cell ${verdict} ${isCurrent ? "is-current" : ""} ${hasWords ? "" : "is-small"}`}
      title={titleOf(request)}
    >
      <div class={`strip-verdict ${verdict}`}>
        <ChainSign verdict={verdict} />
        {hasWords ? (
          <>
            {verdict}
            <span class="code">r{revision}</span>
          </>
        ) : null}
      </div>
      <div class="strip-bars">
        <div
          class="bar-held"
          style={{ height: `${heightOf(heldBytes, most)}px`, visibility: heldBytes === 0 ? "hidden" : "visible" }}
        />
        <div class="bar-sent" style={{ height: `${Math.max(2, heightOf(request.bytes, most))}px` }} />
      </div>
      <div class="strip-cache">
        {tokens?.read == null ? null : (
          <>
            <Share name="cache-read" part={tokens.read} of={mostTokens} />
            <Share name="cache-again" part={tokens.again} of={mostTokens} />
            <Share name="cache-new" part={tokens.input - tokens.read - tokens.again} of={mostTokens} />
          </>
        )}
      </div>
      <div class="strip-numbers">
        {hasWords ? (
          <>
            {bytes(request.bytes)}
            <span>{ms === null ? "…" : duration(ms)}</span>
          </>
        ) : null}
      </div>
    </div>
  );
}

const heightOf = (part: number, most: number): number => Math.round((part / most) * barsHeight);

const Share = ({ name, part, of }: { readonly name: string; readonly part: number; readonly of: number }) =>
  part <= 0 ? null : <span class={name} style={{ width: `${Math.max(1, (part / of) * 100)}%` }} />;

function titleOf({ revision, verdict, bytes: sent, heldBytes, tokens, ms }: StripRequest): string {
  return [
    `r${revision}: ${verdict}`,
    `${bytes(sent)} sent, about ${bytes(heldBytes)} held by the server`,
    tokens === null
      ? "tokens not told"
      : `${grouped(tokens.input)} tokens in, ${tokens.read === null ? "cache not told" : `${grouped(tokens.read)} from cache, about ${grouped(tokens.again)} paid again`}, ${grouped(tokens.output)} out`,
    ms === null ? "no answer yet" : duration(ms),
  ].join("\n");
}

const badness: readonly Verdict[] = ["aside", "chained", "first", "whole", "rebased", "full", "failed"];

/** Many requests on a canvas: one bar for several, and the worst verdict wins. */
function Bars({
  requests,
  most,
  mostTokens,
  current,
  width,
}: {
  readonly requests: readonly StripRequest[];
  readonly most: number;
  readonly mostTokens: number;
  readonly current: number;
  readonly width: number;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element == null || context == null) return;
    const scale = devicePixelRatio;
    element.width = width * scale;
    element.height = 124 * scale;
    context.scale(scale, scale);
    // A canvas does not know light-dark(), but what it comes to.
    const color = (name: string): string => {
      element.style.color = `var(${name})`;
      return getComputedStyle(element).color;
    };
    const bars = Math.min(requests.length, Math.floor(width));
    const step = width / bars;
    for (let bar = 0; bar < bars; bar += 1) {
      const from = Math.floor((bar * requests.length) / bars);
      const own = requests.slice(from, Math.max(from + 1, Math.floor(((bar + 1) * requests.length) / bars)));
      const worst = own.reduce((worse, each) =>
        badness.indexOf(each.verdict) > badness.indexOf(worse.verdict) ? each : worse,
      );
      const [left, wide] = [bar * step, Math.max(1, step - (step > 3 ? 1 : 0))];
      const [sent, held] = [Math.max(1.5, (worst.bytes / most) * 60), (worst.heldBytes / most) * 60];
      context.fillStyle = color("--line-2");
      context.globalAlpha = 0.5;
      context.fillRect(left, 88 - sent - held, wide, held);
      context.globalAlpha = 1;
      context.fillStyle = color(
        worst.verdict === "rebased" ? "--warn" : ["full", "failed"].includes(worst.verdict) ? "--bad" : "--text-2",
      );
      context.fillRect(left, 88 - sent, wide, sent);
      const { tokens } = worst;
      if (tokens?.read == null) continue;
      const again = tokens.again / Math.max(1, tokens.input);
      context.fillStyle = again > 0.5 ? color("--bad") : again > 0.1 ? color("--warn") : color("--text-2");
      context.fillRect(left, 98, wide, 4);
    }
    context.fillStyle = color("--accent");
    context.fillRect(Math.round((current + 0.5) * (width / requests.length)) - 1, 14, 2, 96);
  }, [requests, most, mostTokens, current, width]);
  return <canvas ref={canvas} aria-hidden="true" />;
}

function Totals({ overview: { requests } }: { readonly overview: Overview }) {
  const sum = (of: (request: StripRequest) => number): number => requests.reduce((all, each) => all + of(each), 0);
  const sent = sum((request) => request.bytes);
  const told = requests.filter(({ tokens }) => tokens?.read != null);
  const read = told.reduce((all, { tokens }) => all + (tokens?.read ?? 0), 0);
  const input = told.reduce((all, { tokens }) => all + (tokens?.input ?? 0), 0);
  const chained = requests.filter(({ verdict }) => verdict === "chained").length;
  return (
    <div class="strip-totals">
      <span class="whole">
        {grouped(requests.length)} {requests.length === 1 ? "request" : "requests"}, {grouped(chained)} chained
      </span>
      <span>Sent of everything</span>
      <span class="num">{sumOfBytes(sent)}</span>
      <span class="of">of about {sumOfBytes(sent + sum(({ heldBytes }) => heldBytes))}</span>
      <span>Read from cache</span>
      <span class="num">{told.length === 0 ? "not told" : grouped(read)}</span>
      <span class="of">{told.length === 0 ? "" : `of ${grouped(input)} tokens`}</span>
      <span>Waited for answers</span>
      <span class="num">{duration(sum(({ ms }) => ms ?? 0))}</span>
      <span class="of" />
    </div>
  );
}

function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(1_000);
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(current.clientWidth));
    observer.observe(current);
    setWidth(current.clientWidth);
    return () => observer.disconnect();
  }, [element.current]);
  return width;
}

function useKeepInView(area: { readonly current: HTMLElement | null }, left: number, cell: number): void {
  useEffect(() => {
    const { current } = area;
    if (current === null) return;
    if (left < current.scrollLeft || left + cell > current.scrollLeft + current.clientWidth)
      current.scrollLeft = left - (current.clientWidth - cell) / 2;
  }, [left, cell]);
}
