import { useEffect, useRef, useState } from "preact/hooks";
import {
  type LogGroup,
  type OverviewDocument,
  type PackedRequest,
  type Part,
  type StripRequest,
  verdicts,
} from "../../src/studio/page-documents.ts";
import { load, SourceError } from "./source.ts";

/** A conversation as its page has it: whole. */
export type Overview = Omit<OverviewDocument, "groups" | "requests"> & {
  readonly groups: readonly LogGroup[];
  readonly requests: readonly StripRequest[];
};

type Shown = { readonly overview: Overview | null; readonly error: SourceError | null; readonly retry: () => void };

/** The newest of groups and requests may still change: they are asked for again. */
const mayChange = 3;

/** Loads a conversation, and then only what is new. */
export function useOverview(id: string, version: number): Shown {
  const [state, setState] = useState<{ readonly overview: Overview | null; readonly error: SourceError | null }>({
    overview: null,
    error: null,
  });
  const [tries, setTries] = useState(0);
  const known = useRef<Overview | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    const { groups = [], requests = [] } = known.current ?? {};
    const from = [Math.max(0, groups.length - mayChange), Math.max(0, requests.length - mayChange)];
    load<OverviewDocument>(`/api/c/${id}?groups=${from[0]}&requests=${from[1]}`, controller.signal).then(
      (document) => {
        // The store was set back, or holds another log now: what is known is of no use.
        if (known.current !== null && document.events < known.current.events) {
          known.current = null;
          setTries((count) => count + 1);
          return;
        }
        const overview = {
          ...document,
          groups: joined(groups, document.groups),
          requests: joined(requests, { ...document.requests, items: document.requests.items.map(unpacked) }),
        };
        known.current = overview;
        setState({ overview, error: null });
      },
      (error: unknown) => {
        if (!controller.signal.aborted && error instanceof SourceError)
          setState(({ overview }) => ({ overview, error }));
      },
    );
    return () => controller.abort();
  }, [id, version, tries]);
  return { ...state, retry: () => setTries((count) => count + 1) };
}

const joined = <Item>(before: readonly Item[], { from, items }: Part<Item>): readonly Item[] => [
  ...before.slice(0, from),
  ...items,
];

function unpacked(request: PackedRequest): StripRequest {
  const [revision, verdict, bytes, heldBytes, ms, input, output, read, again] = request;
  return {
    ...{ revision, bytes, heldBytes, verdict: verdicts[verdict] ?? "whole", ms: ms < 0 ? null : ms },
    tokens: input < 0 ? null : { input, output, again, read: read < 0 ? null : read },
  };
}
