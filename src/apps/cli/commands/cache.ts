import type * as z from "zod";
import { describeCacheCause, notLookedAtWords } from "../../../analysis/descriptions/describe-cache.ts";
import { counted, grouped } from "../../../base/counted.ts";
import { excerpt } from "../../../base/printable.ts";
import { cacheDocument } from "../../documents/caching.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversations } from "../find.ts";
import { checkedPrices } from "../price-files.ts";
import { catchUpAfterMs } from "../progress.ts";

type Options = {
  readonly all?: boolean;
  readonly since?: string;
  readonly prices?: string;
  readonly priceAs?: Readonly<Record<string, string>>;
};

type Document = z.infer<typeof cacheDocument>;

/** What prompt caches saved, what their misses cost, and who caused them. */
export const cache = commandCode({
  document: cacheDocument,

  async *run(context, { arguments: names, options: { all = false, ...given } }: CommandInput<Options>) {
    const options = checkedPrices(context.settings.prices(given));
    if (all === names.length > 0) throw new UsageError("expected conversations, or --all for those of the whole store");
    await using store = await context.openStore("read");
    const conversations = all ? {} : { conversations: await findConversations(store, names) };
    yield await context.progress(
      "events read",
      (onProgress) => store.cache({ ...options, ...conversations, onProgress }),
      catchUpAfterMs,
    );
  },

  render(document, { style, print, table, note }) {
    const { requests, tokens, hitRate, misses, prices, money } = document;
    const { input, read, lost } = tokens;
    if (requests === 0) note("no provider reported what a request read");
    if (hitRate !== null)
      print(
        `${style.bold(`${(hitRate * 100).toFixed(1)} %`)} of ${counted(input, "input token")} read from caches (${grouped(read)}), in ${counted(requests, "request")}`,
        `${counted(lost, "token")} paid for again${money === null ? "" : `: $${money} more than reading them`}`,
      );
    const hasMoney = prices !== null;
    if (misses.length > 0)
      table([
        ["cause", "by", "requests", "lost", ...(hasMoney ? ["money"] : []), ""].map((text) => ({
          text,
          style: style.dim,
        })),
        ...misses.map(({ cause, author, requests: missed, lost: tokensLost, money: usd }) => [
          excerpt(cause, 40),
          excerpt(author ?? "-", 60),
          grouped(missed),
          grouped(tokensLost),
          ...(hasMoney ? [usd === null ? "not priced" : `$${usd}`] : []),
          { text: describeCacheCause(cause), style: style.dim },
        ]),
      ]);
    if (prices !== null) note(`prices: ${prices.file} (${prices.format}, sha256 ${prices.sha256.slice(0, 12)})`);
    for (const line of notes(document)) note(line);
  },
});

/** What is not known. */
function notes({ unknown, misses, serverSays, skipped, erased, damaged }: Document): readonly string[] {
  const { untold, notLookedAt, unknown: unmade } = unknown;
  const removed = misses.reduce((sum, row) => sum + row.removed, 0);
  return [
    ...(removed > 0 ? [`about ${counted(removed, "token")} removed from prompts by these changes`] : []),
    ...(serverSays.requests > 0
      ? [
          `${counted(serverSays.requests, "answer")} in which the provider says what changed: turnlog agrees with ${grouped(serverSays.agreed)}, and disagrees with ${grouped(serverSays.disagreed)}`,
        ]
      : []),
    ...(untold > 0 ? [`${counted(untold, "request")} whose provider did not report what was read`] : []),
    ...(notLookedAt > 0 ? [notLookedAtWords(notLookedAt)] : []),
    ...(unmade > 0 ? [`${counted(unmade, "request")} of providers that make their own prompts`] : []),
    ...(damaged > 0
      ? [`${counted(damaged, "conversation")} damaged: their sums may lack some; \`turnlog verify\``]
      : []),
    ...(skipped > 0 ? [`${counted(skipped, "conversation")} with skipped events`] : []),
    ...(erased !== null && erased > 0
      ? [`${counted(erased, "conversation")} erased: what they read is not known`]
      : []),
  ];
}
