import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { StripRequest } from "../../../src/apps/studio/page-documents.ts";
import { bytes, duration, grouped, money, roundBytes } from "../format.ts";
import type { Overview } from "../overview.ts";
import { cacheWords } from "./cache-words.ts";
import { ChainSign } from "./icons.tsx";
import { Bars } from "./strip-bars.tsx";
import { Totals } from "./strip-totals.tsx";

/** Whether cells show what requests cost in the place of how long they took. */
const isMoneyShown = signal(false);

type StripProps = {
  readonly overview: Overview;
  /** The index of the request that the page shows. */
  readonly current: number;
  readonly onSelect: (index: number) => void;
};

/** A cell has at most this width, words from the second on, a sign from the third on; below, requests share bars. */
const [mostWidth, wordsFrom, signFrom] = [116, 96, 12];

/** Cells beyond those in view, on each side. */
const spare = 4;

/** All requests: how each was sent, what the server held, what was read from a cache, and what it took. */
export function Strip({ overview, current, onSelect }: StripProps) {
  const { requests } = overview;
  const area = useRef<HTMLDivElement>(null);
  const { width, left } = useView(area);
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
  const most = Math.max(1, overview.totals.mostBytes);
  const mostTokens = Math.max(1, overview.totals.mostTokens);
  const request = requests[current];
  // On a narrow screen the strip scrolls: only the cells in view are in the page.
  const first = Math.max(0, Math.floor(left / cell) - spare);
  const shown = requests.slice(first, Math.ceil((left + width) / cell) + spare);
  const hasMoney = overview.totals.money !== null;
  return (
    <section class="strip" aria-label="Requests">
      <div class="strip-names" aria-hidden="true">
        <span>{cell < signFrom ? "" : "Chain"}</span>
        <span>Sent, held</span>
        <span>Cache</span>
        <span>{cell < wordsFrom || hasMoney ? "" : "Bytes, time"}</span>
      </div>
      {hasMoney && cell >= wordsFrom ? (
        <button
          type="button"
          class="strip-switch"
          aria-pressed={isMoneyShown.value}
          title="Show what requests cost, or how long they took"
          onClick={() => (isMoneyShown.value = !isMoneyShown.value)}
        >
          Bytes, {isMoneyShown.value ? "cost" : "time"}
        </button>
      ) : null}
      <div class="strip-cells" ref={area}>
        <div class="strip-track" style={{ width: `${cell * requests.length}px`, "--cell": `${cell}px` }}>
          {cell < signFrom ? (
            <Bars requests={requests} most={most} current={current} width={cell * requests.length} />
          ) : (
            <>
              <div style={{ flex: "none", width: `${first * cell}px` }} />
              {shown.map((each, index) => (
                <Cell
                  key={first + index}
                  request={each}
                  most={most}
                  mostTokens={mostTokens}
                  isCurrent={first + index === current}
                  hasWords={cell >= (isNarrow ? 88 : wordsFrom)}
                />
              ))}
            </>
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
              request == null
                ? ""
                : `request ${current + 1} of ${requests.length}, revision ${request.revision}, ${request.verdict}, ${bytes(request.bytes)} sent, ${cacheWords(request)}`
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
  /** Null if it has not come yet. */
  readonly request: StripRequest | null;
  readonly most: number;
  readonly mostTokens: number;
  readonly isCurrent: boolean;
  readonly hasWords: boolean;
};

const barsHeight = 40;

function Cell({ request, most, mostTokens, isCurrent, hasWords }: CellProps) {
  if (request === null) return <div class={`strip-cell ${isCurrent ? "is-current" : ""}`} />;
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
            <span class="code">r{grouped(revision)}</span>
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
            {isMoneyShown.value || request.bytes >= 100_000 ? roundBytes(request.bytes) : bytes(request.bytes)}
            <span>{isMoneyShown.value ? money(request.money) : ms === null ? "…" : duration(ms)}</span>
          </>
        ) : null}
      </div>
    </div>
  );
}

const heightOf = (part: number, most: number): number => Math.round((part / most) * barsHeight);

const Share = ({ name, part, of }: { readonly name: string; readonly part: number; readonly of: number }) =>
  part <= 0 ? null : <span class={name} style={{ width: `${Math.max(1, (part / of) * 100)}%` }} />;

function titleOf(request: StripRequest): string {
  const { revision, verdict, bytes: sent, heldBytes, tokens, ms } = request;
  return [
    `r${grouped(revision)}: ${verdict}`,
    `${bytes(sent)} sent, about ${bytes(heldBytes)} held by the server`,
    cacheWords(request),
    ...(tokens === null ? [] : [`${grouped(tokens.output)} tokens out`]),
    `${ms === null ? "no answer yet" : duration(ms)}${request.money === null ? "" : `, ${money(request.money)}`}`,
  ].join("\n");
}

/** The width of the area, and how far it is scrolled. */
function useView(element: { readonly current: HTMLElement | null }): { readonly width: number; readonly left: number } {
  const [view, setView] = useState({ width: 1_000, left: 0 });
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = (): void => setView({ width: current.clientWidth, left: current.scrollLeft });
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      current.removeEventListener("scroll", measure);
    };
  }, [element.current]);
  return view;
}

function useKeepInView(area: { readonly current: HTMLElement | null }, left: number, cell: number): void {
  useEffect(() => {
    const { current } = area;
    if (current === null) return;
    if (left < current.scrollLeft || left + cell > current.scrollLeft + current.clientWidth)
      current.scrollLeft = left - (current.clientWidth - cell) / 2;
  }, [left, cell]);
}
