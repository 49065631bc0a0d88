import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { LogPage, LogRow } from "../../../src/apps/studio/page-documents.ts";
import type { Overview } from "../overview.ts";
import { load, SourceError } from "../source.ts";

const pageRows = 200;

/** The rows of a log by pages, loaded when they are seen, and again once content of earlier events was erased. */
export function useRows({ conversation, events, rewritten }: Overview) {
  const pages = useRef(new Map<number, readonly LogRow[] | "loading">());
  const log = `${conversation}@${rewritten}`;
  const known = useRef(log);
  const version = useSignal(0);
  if (known.current !== log) {
    known.current = log;
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
        readRows(`/api/c/${conversation}/log?`, { first: number * pageRows, most: pageRows }).then(
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

/** So many rows of the log, from one on: an answer with long rows has fewer than were asked for. */
async function readRows(
  path: string,
  { first, most, signal }: { readonly first: number; readonly most: number; readonly signal?: AbortSignal },
): Promise<Pick<LogPage, "rows" | "total">> {
  const read: LogRow[] = [];
  for (;;) {
    const from = first + read.length;
    const { rows, total } = await load<LogPage>(`${path}from=${from}&n=${most - read.length}`, signal);
    read.push(...rows);
    if (rows.length === 0 || read.length >= most || first + read.length >= total) return { rows: read, total };
  }
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
      const path = `/api/c/${conversation}/log?f=${encodeURIComponent(filter)}&`;
      readRows(path, { first: 0, most: 500, signal: controller.signal }).then(
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
