import { useEffect, useRef, useState } from "preact/hooks";
import {
  type CacheVerdict,
  groupStates,
  type LogGroup,
  type OverviewDocument,
  type PackedGroup,
  type PackedRequest,
  type Part,
  type RequestsPage,
  type StripRequest,
  verdicts,
} from "../../src/apps/studio/page-documents.ts";
import { load, SourceError } from "./source.ts";

/** A conversation as its page has it. What has not come yet has its place, so that nothing moves when it comes. */
export type Overview = Omit<OverviewDocument, "groups" | "requests"> & {
  readonly groups: readonly (LogGroup | null)[];
  readonly requests: readonly (StripRequest | null)[];
};

type State = { readonly overview: Overview | null; readonly error: SourceError | null };

type Shown = State & { readonly retry: () => void };

/** The newest of groups and requests may still change: they are asked for again. */
const mayChange = 3;

/** Loads a conversation, its newest part first, and then only what is new. */
export function useOverview(id: string, version: number): Shown {
  const [state, setState] = useState<State>({ overview: null, error: null });
  const [tries, setTries] = useState(0);
  const known = useRef<Overview | null>(null);
  const show = (overview: Overview): void => {
    known.current = overview;
    setState({ overview, error: null });
  };
  useEffect(() => {
    const controller = new AbortController();
    load<OverviewDocument>(`/api/c/${id}${askingFor(known.current)}`, controller.signal).then(
      (document) => {
        if (known.current !== null && isOutdated(known.current, document)) {
          known.current = null;
          setTries((count) => count + 1);
          return;
        }
        const { groups, requests, ...told } = document;
        show({
          ...told,
          groups: joined(known.current?.groups ?? [], groups, unpackedGroup),
          requests: joined(known.current?.requests ?? [], requests, unpackedRequest(requests.caches)),
        });
      },
      (error: unknown) => {
        if (!controller.signal.aborted && error instanceof SourceError)
          setState(({ overview }) => ({ overview, error }));
      },
    );
    return () => controller.abort();
  }, [id, version, tries]);
  useMissing(id, state.overview, (filled) => {
    if (known.current !== null) show(filled(known.current));
  });
  return { ...state, retry: () => setTries((count) => count + 1) };
}

/** Whether what is known is of no use: the store was set back, holds another log now, or content was erased from it. */
const isOutdated = (known: Overview, now: OverviewDocument): boolean =>
  now.events < known.events || now.rewritten !== known.rewritten;

/** The newest places that may have changed; nothing is known before the first answer, which has the newest. */
function askingFor(overview: Overview | null): string {
  if (overview === null) return "";
  const { groups, requests } = overview;
  return `?groups=${Math.max(0, groups.length - mayChange)}&requests=${Math.max(0, requests.length - mayChange)}`;
}

/** Loads what an answer has left out, page by page, from the beginning. */
function useMissing(
  id: string,
  overview: Overview | null,
  onPage: (filled: (now: Overview) => Overview) => void,
): void {
  const groups = overview?.groups.indexOf(null) ?? -1;
  const requests = overview?.requests.indexOf(null) ?? -1;
  useEffect(() => {
    if (groups < 0) return undefined;
    const controller = new AbortController();
    load<Part<PackedGroup>>(`/api/c/${id}/groups?from=${groups}`, controller.signal).then(
      (page) => onPage((now) => ({ ...now, groups: joined(now.groups, page, unpackedGroup) })),
      () => undefined,
    );
    return () => controller.abort();
  }, [id, groups]);
  useEffect(() => {
    if (requests < 0) return undefined;
    const controller = new AbortController();
    load<RequestsPage>(`/api/c/${id}/requests?from=${requests}`, controller.signal).then(
      (page) => onPage((now) => ({ ...now, requests: joined(now.requests, page, unpackedRequest(page.caches)) })),
      () => undefined,
    );
    return () => controller.abort();
  }, [id, requests]);
}

function joined<Packed, Item extends object>(
  before: readonly (Item | null)[],
  { from, total, items }: Part<Packed>,
  unpack: (packed: Packed) => Item,
): readonly (Item | null)[] {
  const all = Array.from({ length: Math.max(total, before.length) }, (_, place) => before[place] ?? null);
  for (const [place, item] of items.entries()) all[from + place] = unpack(item);
  return all;
}

const unpackedGroup = ([from, to, words, state, worst]: PackedGroup): LogGroup => ({
  ...{ from, to, words, state: groupStates[state] ?? "done", worst: verdicts[worst] ?? null },
});

const unpackedRequest =
  (caches: readonly CacheVerdict[]) =>
  ([revision, verdict, bytes, heldBytes, ms, input, output, read, written, again, cache, ...money]: PackedRequest) => ({
    ...{ revision, bytes, heldBytes, verdict: verdicts[verdict] ?? "whole", ms: ms < 0 ? null : ms },
    tokens: input < 0 ? null : { input, output, written, again, read: read < 0 ? null : read },
    ...{ cache: caches[cache] ?? null, money: money[0] ?? null, missMoney: money[1] ?? null },
  });
