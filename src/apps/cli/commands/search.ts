import { actorLabel } from "../../../analysis/descriptions/labels.ts";
import { excerpt, printable } from "../../../base/printable.ts";
import { searchDocument } from "../../documents/conversations.ts";
import { placeName } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { UsageError } from "../exit-codes.ts";
import { dateAndTime } from "../shown-time.ts";

type Options = { readonly limit: number; readonly label?: Readonly<Record<string, string>> };

/** Titles and texts of the store that contain all the words, newest conversations first. */
export const search = commandCode({
  document: searchDocument,

  async *run(context, { arguments: words, options: { limit, label: labels = {} } }: CommandInput<Options>) {
    const text = words.join(" ");
    if (!/[^\s"]/u.test(text))
      throw new UsageError(
        `expected words or a phrase to search for: ${context.commandName} search 'weather "in Paris"'`,
      );
    await using store = await context.openStore("read");
    const { hits, hasMore } = await context.progress("events read", (onProgress) =>
      store.search(text, { limit: limit === 0 ? Number.MAX_SAFE_INTEGER : limit, labels, onProgress }),
    );
    const told = hits.map(({ block, ...hit }) => ({ ...hit, blockId: block?.id ?? null, kind: block?.kind ?? null }));
    yield { text, hits: told, hasMore };
  },

  render({ text, hits, hasMore }, { style, print, note }) {
    for (const { conversation, title, revision, at, actor, kind, snippet, match } of hits) {
      const place = style.bold(placeName(conversation, revision));
      const [what, who] = [kind ?? "title", actorLabel(actor)];
      const said = what === who ? what : `${what} by ${who}`;
      const named = kind === null || title === null ? "" : `, in “${excerpt(title, 60)}”`;
      const [before, found, after] = [
        snippet.slice(0, match.start),
        snippet.slice(match.start, match.end),
        snippet.slice(match.end),
      ].map(printable);
      print(
        `${place}  ${style.dim(`${dateAndTime(at)}  ${said}${named}`)}`,
        `  ${before ?? ""}${style.warn(found ?? "")}${after ?? ""}`,
      );
    }
    if (hits.length === 0) note(`no text in the store matches ${excerpt(text, 60)}`);
    if (hasMore) note(`there are more: --limit 0 shows all`);
  },
});
