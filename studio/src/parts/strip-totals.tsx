import type { Totals as TotalsDocument } from "../../../src/apps/studio/page-documents.ts";
import { duration, grouped, money, sumOfBytes } from "../format.ts";
import type { Overview } from "../overview.ts";

/** What all requests come to: tokens and money as `turnlog cache` and `turnlog bill` add them up. */
export function Totals({ overview: { requests, totals } }: { readonly overview: Overview }) {
  const { chained, bytes, heldBytes, ms, cache } = totals;
  return (
    <div class="strip-totals">
      <span class="whole">
        {grouped(requests.length)} {requests.length === 1 ? "request" : "requests"}, {grouped(chained)} chained
      </span>
      <span>Sent of everything</span>
      <span class="num">{sumOfBytes(bytes)}</span>
      <span class="of">of about {sumOfBytes(bytes + heldBytes)}</span>
      <span>Read from cache</span>
      <span class="num">{cache.requests === 0 ? "not told" : grouped(cache.read)}</span>
      <span class="of">{cache.requests === 0 ? "" : `of ${grouped(cache.input)} tokens`}</span>
      <span>Paid again</span>
      <span class={`num ${cache.lost > 0 ? "warn" : ""}`}>
        {cache.requests === 0 ? "not told" : grouped(cache.lost)}
      </span>
      <span class="of">{missWords(totals)}</span>
      <span>{totals.money === null ? "Waited for answers" : "Cost"}</span>
      <span class="num">
        {totals.money === null
          ? duration(ms)
          : totals.untold > 0 && totals.untold === requests.length
            ? "not told"
            : money(totals.money)}
      </span>
      <span class="of">{totals.money === null ? "" : duration(ms)}</span>
    </div>
  );
}

const missWords = ({ cache, missMoney }: TotalsDocument): string =>
  missMoney === null ? (cache.lost === 0 ? "" : "tokens") : `for ${money(missMoney)} more`;
