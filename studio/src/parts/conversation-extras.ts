import { useEffect, useState } from "preact/hooks";
import type { z } from "zod";
import type { billDocument } from "../../../src/apps/documents/stores.ts";
import type { ChainsDocument } from "../../../src/apps/studio/page-documents.ts";
import { changes } from "../live.ts";
import { load } from "../source.ts";

type Bill = z.infer<typeof billDocument>;
export type Cost = Bill["rows"][number];

/** Chains and costs of the rows that are seen. */
export function useExtras(ids: readonly string[]): {
  readonly chains: Readonly<Record<string, string>>;
  readonly costs: ReadonlyMap<string, Cost>;
} {
  const [chains, setChains] = useState<Readonly<Record<string, string>>>({});
  const [costs, setCosts] = useState<ReadonlyMap<string, Cost>>(new Map());
  const wanted = ids.join(",");
  const version = changes.value;
  useEffect(() => {
    if (wanted === "") return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      void (async () => {
        const bill = await load<Bill>(`/api/bill?by=conversation&conversations=${wanted}`, controller.signal);
        setCosts((old) => new Map([...old, ...bill.rows.map((row) => [row.name, row] as const)]));
        const list = wanted.split(",");
        for (let from = 0; from < list.length; from += 10) {
          const part = await load<ChainsDocument>(
            `/api/chains?ids=${list.slice(from, from + 10).join(",")}`,
            controller.signal,
          );
          setChains((old) => ({ ...old, ...part.chains }));
        }
      })().catch(() => undefined);
    }, 60);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [wanted, version]);
  return { chains, costs };
}
