import { useSignal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import type { z } from "zod";
import type { lsDocument } from "../../../src/apps/documents/stores.ts";
import { changes } from "../live.ts";
import { route } from "../route.ts";
import { load, SourceError, useLoaded } from "../source.ts";

type Page = z.infer<typeof lsDocument>;
export type Listed = Page["conversations"][number];

const pageSize = 100;

export type ListState = {
  readonly conversations: readonly Listed[];
  readonly total: number;
  readonly next: string | null;
  readonly error: SourceError | null;
  readonly isThere: boolean;
  readonly more: () => void;
  readonly retry: () => void;
};

/** Pages of the list, one after the other as they are needed; new events change the first. */
export function useList(): ListState {
  const { query } = route.value;
  const wanted = ["state", "losses", "label", "sort", "order"].flatMap((name) => {
    const value = query.get(name);
    return value === null || value === "" ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  const path = `/api/conversations?n=${pageSize}${wanted.map((each) => `&${each}`).join("")}`;
  const [pages, setPages] = useState<{ readonly path: string; readonly list: readonly Page[] }>({ path, list: [] });
  const first = useLoaded<Page>(path, changes.value);
  const loading = useRef(false);
  const error = useSignal<SourceError | null>(null);
  const further = pages.path === path ? pages.list : [];
  const all = first.data === null ? [] : [first.data, ...further];
  const next = all.at(-1)?.next ?? null;
  const seen = new Set<string>();
  const conversations = all.flatMap((page) => page.conversations).filter(({ id }) => !seen.has(id) && seen.add(id));
  return {
    conversations,
    total: first.data?.total ?? 0,
    next,
    error: first.error ?? error.value,
    isThere: first.data !== null && !first.isOld,
    retry: first.retry,
    more() {
      if (loading.current || next === null) return;
      loading.current = true;
      load<Page>(`${path}&cursor=${encodeURIComponent(next)}`)
        .then((page) => setPages({ path, list: [...further, page] }))
        .catch((failed: unknown) => {
          if (failed instanceof SourceError) error.value = failed;
        })
        .finally(() => {
          loading.current = false;
        });
    },
  };
}
