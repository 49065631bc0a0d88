import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { LogPage, LogRow } from "../../../src/studio/page-documents.ts";
import { load, SourceError } from "../source.ts";

const pageRows = 200;

/** The rows of a log by pages, loaded when they are seen. */
export function useRows(conversation: string, events: number) {
  const pages = useRef(new Map<number, readonly LogRow[] | "loading">());
  const known = useRef(conversation);
  const version = useSignal(0);
  if (known.current !== conversation) {
    known.current = conversation;
    pages.current = new Map();
  }
  // The last page grows.
  const lastPage = Math.floor(Math.max(0, events - 1) / pageRows);
  const [, read] = [version.value, pages.current];
  return {
    get: (revision: number): LogRow | null => {
      const page = read.get(Math.floor(revision / pageRows));
      return page === undefined || page === "loading" ? null : (page[revision % pageRows] ?? null);
    },
    want(revisions: readonly number[]): void {
      for (const number of new Set(revisions.map((revision) => Math.floor(revision / pageRows)))) {
        const page = read.get(number);
        const isShort =
          page !== undefined && page !== "loading" && number === lastPage && page.length < events - number * pageRows;
        if (page !== undefined && !isShort) continue;
        if (page === undefined) read.set(number, "loading");
        load<LogPage>(`/api/c/${conversation}/log?from=${number * pageRows}&n=${pageRows}`).then(
          ({ rows }) => {
            read.set(number, rows);
            version.value += 1;
          },
          () => read.delete(number),
        );
      }
    },
  };
}

/** The rows that a filter finds. */
export function useFiltered(conversation: string, filter: string, events: number) {
  const [state, setState] = useState<{
    readonly rows: readonly LogRow[];
    readonly total: number;
    readonly error: SourceError | null;
    readonly isThere: boolean;
  }>({ rows: [], total: 0, error: null, isThere: false });
  useEffect(() => {
    if (filter === "") {
      setState({ rows: [], total: 0, error: null, isThere: false });
      return undefined;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      load<LogPage>(`/api/c/${conversation}/log?n=500&f=${encodeURIComponent(filter)}`, controller.signal).then(
        ({ rows, total }) => setState({ rows, total, error: null, isThere: true }),
        (error: unknown) => {
          if (error instanceof SourceError) setState({ rows: [], total: 0, error, isThere: true });
        },
      );
    }, 120);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [conversation, filter, events]);
  return state;
}
