import type { z } from "zod";
import { describeCacheCause } from "../../../src/analysis/descriptions/describe-cache.ts";
import type { cacheDocument } from "../../../src/apps/documents/caching.ts";
import type { MissesDocument } from "../../../src/apps/studio/misses-document.ts";
import { counted, grouped, money } from "../format.ts";
import { conversationPath, follow, hrefOf } from "../route.ts";
import { At } from "./actor-name.tsx";
import { AuthorName } from "./author-name.tsx";
import { WarnIcon } from "./icons.tsx";

type Caches = z.infer<typeof cacheDocument>;
type Miss = Caches["misses"][number];

/** Who paid most again, and a way to the worst request. */
export function WorstBanner({
  caches,
  misses,
}: {
  readonly caches: Caches | null;
  readonly misses: MissesDocument | null;
}) {
  const worst = caches?.misses.find(({ author, lost }) => author !== null && lost > 0);
  if (worst === undefined) return null;
  const request = misses?.worst.find(({ author, cause }) => author === worst.author && cause === worst.cause);
  const to = request === undefined ? null : conversationPath(request.conversation, request.revision);
  return (
    <section class="banner warn" aria-label="Most was paid again">
      <WarnIcon class="warn" />
      <div>
        <h2>
          <AuthorName author={worst.author} /> changed what servers had cached
        </h2>
        <p>
          {counted(worst.requests, "request")} paid again for <span class="strong">{counted(worst.lost, "token")}</span>
          {worst.money === null ? "" : `, ${money(worst.money)} more than reading them`}:{" "}
          {describeCacheCause(worst.cause)}.
        </p>
      </div>
      <div class="actions">
        {to === null ? null : (
          <a class="button" href={hrefOf(to)} onClick={(event) => follow(event, to)}>
            Show the worst one
          </a>
        )}
      </div>
    </section>
  );
}

/** The misses by cause and by who caused them: the rows of `turnlog cache`. */
export function MissesByCause({ caches }: { readonly caches: Caches }) {
  const { misses, tokens, unknown, prices } = caches;
  const hasMoney = prices !== null;
  const weightOf = (miss: Pick<Miss, "money" | "lost">): number => (hasMoney ? Number(miss.money ?? 0) : miss.lost);
  const most = Math.max(...misses.map(weightOf), 1e-9);
  if (misses.length === 0)
    return (
      <p class="costs-none">
        {caches.requests === 0
          ? "No provider told what it read from a prompt cache."
          : "No request paid again for what a prompt cache had."}
      </p>
    );
  return (
    <table class="table misses">
      <caption>
        Misses by cause
        <span>what a prompt cache had, and was paid again</span>
      </caption>
      <thead>
        <tr>
          <th>Caused by</th>
          <th>Why</th>
          <th class="num mid-only">Requests</th>
          <th class="num mid-only">Removed, tokens</th>
          <th class="num">Paid again, tokens</th>
          {hasMoney ? <th class="num">Cost ↓</th> : null}
          <th class="mid-only">
            <span class="sr">Share</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {misses.map((miss) => (
          <tr key={`${miss.cause} ${miss.author}`}>
            <td class="cut">
              <AuthorName author={miss.author} />
            </td>
            <td class="cut">{describeCacheCause(miss.cause)}</td>
            <td class="num mid-only">{grouped(miss.requests)}</td>
            <td class={`num mid-only ${miss.removed === 0 ? "zero" : ""}`}>
              {miss.removed === 0 ? "0" : `about ${grouped(miss.removed)}`}
            </td>
            <td class={`num ${hasMoney ? "" : "strong"}`}>{grouped(miss.lost)}</td>
            {hasMoney ? <td class="num strong">{money(miss.money)}</td> : null}
            <td class="mid-only">
              <span class="share" style={{ width: `${Math.max(1, Math.round((weightOf(miss) / most) * 140))}px` }} />
            </td>
          </tr>
        ))}
        <tr class="total">
          <td>All misses</td>
          <td>
            {unknown.untold === 0 ? "" : <span class="text-3">{counted(unknown.untold, "request")} told nothing</span>}
          </td>
          <td class="num mid-only">{grouped(misses.reduce((sum, { requests }) => sum + requests, 0))}</td>
          <td class="mid-only" />
          <td class="num">{grouped(tokens.lost)}</td>
          {hasMoney ? <td class="num">{money(caches.money, true)}</td> : null}
          <td class="mid-only" />
        </tr>
      </tbody>
    </table>
  );
}

/** The single requests that paid most again. */
export function Worst({ misses, hasPrices }: { readonly misses: MissesDocument; readonly hasPrices: boolean }) {
  const { worst, read, conversations } = misses;
  if (worst.length === 0) return null;
  return (
    <table class="table misses">
      <caption>
        Requests that paid most again
        <span>
          {read < conversations ? `in the ${counted(read, "conversation")} with the most misses` : "the worst first"}
        </span>
      </caption>
      <thead>
        <tr>
          <th>Caused by</th>
          <th class="mid-only">Why</th>
          <th>Where</th>
          <th class="num mid-only">Written again</th>
          <th class="num">Paid again, tokens</th>
          {hasPrices ? <th class="num">Cost ↓</th> : null}
        </tr>
      </thead>
      <tbody>
        {worst.map((miss) => (
          <tr key={`${miss.conversation} ${miss.revision} ${miss.cause}`}>
            <td class="cut">
              <AuthorName author={miss.author} />
            </td>
            <td class="cut mid-only">{describeCacheCause(miss.cause)}</td>
            <td class="cut">
              <At conversation={miss.conversation} revision={miss.revision} />{" "}
              <span class="code text-3">{miss.conversation}</span>
            </td>
            <td class={`num mid-only ${miss.written === 0 ? "zero" : ""}`}>{grouped(miss.written)}</td>
            <td class={`num ${hasPrices ? "" : "strong"}`}>{grouped(miss.lost)}</td>
            {hasPrices ? <td class="num strong">{money(miss.money)}</td> : null}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
