import { useSignal } from "@preact/signals";
import type { HeldContext, StackDocument } from "../../../src/apps/studio/stack-documents.ts";
import { counted, grouped } from "../format.ts";
import { ChainSign, CheckIcon } from "./icons.tsx";

/** What servers held when this was planned, newest first. */
export function Servers({ stack: { contexts, moreContexts, conversation } }: { readonly stack: StackDocument }) {
  const isAll = useSignal(false);
  if (contexts.length === 0) return null;
  const states = new Set(contexts.map(({ state }) => state));
  return (
    <section class="servers" aria-label="Servers hold">
      <span class="text-3">Servers hold</span>
      <span class="held">
        {contexts.slice(0, isAll.value ? contexts.length : 3).map((context) => (
          <Context key={context.responseId} context={context} own={conversation} />
        ))}
      </span>
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
