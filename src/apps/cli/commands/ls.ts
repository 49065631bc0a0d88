import type * as z from "zod";
import { type ListOptions, listConversations } from "../../../analysis/lists/list.ts";
import { counted, grouped } from "../../../base/counted.ts";
import { excerpt, printable } from "../../../base/printable.ts";
import { hiddenLabel } from "../../../domain/decider/labels.ts";
import { countJson } from "../../documents/ls-document.ts";
import { lsDocument } from "../../documents/stores.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { shownUrl } from "../context.ts";
import { savedPercent } from "../saved-percent.ts";
import { dateAndTime } from "../shown-time.ts";

type Options = Pick<ListOptions, "after" | "since" | "until" | "state" | "losses" | "sort"> & {
  readonly limit: number;
  readonly waiting?: NonNullable<ListOptions["waitingFor"]>;
  readonly label?: Readonly<Record<string, string>>;
  readonly all?: boolean;
  readonly reverse?: boolean;
};
type Listed = z.infer<typeof lsDocument>["conversations"][number];

/** The conversations of the store, by default the last written first. */
export const ls = commandCode({
  document: lsDocument,

  async *run(context, { options }: CommandInput<Options>) {
    const { limit, label: labels = {}, all: withHidden = false, reverse = false, waiting, ...others } = options;
    const filters = waiting === undefined ? others : { ...others, waitingFor: waiting };
    await using events = await context.openEvents();
    const asked = { limit: limit === 0 ? Number.MAX_SAFE_INTEGER : limit, labels, withHidden };
    const order = reverse ? "ascending" : "descending";
    const page = await context.progress("events read", (onProgress) =>
      listConversations(events, { ...filters, ...asked, order, withTotal: true, onProgress }),
    );
    const { conversations, total, hidden, next } = page;
    const asJson = await countJson(events, conversations);
    yield { conversations, total: total ?? 0, hidden: hidden ?? 0, asJson, next };
  },

  render(
    { conversations, total, hidden, asJson, next },
    { style, storeUrl, table, note, print },
    { options }: CommandInput<Options>,
  ) {
    table(
      conversations.map((listed) => [
        { text: listed.id, style: style.bold },
        { text: dateAndTime(listed.lastAt, "minute"), style: style.dim },
        counted(listed.events, "event"),
        counted(listed.requests, "request"),
        savedWords(listed),
        titleWords(listed),
      ]),
    );
    if (options.waiting !== undefined)
      for (const { id, openRun } of conversations)
        for (const { kind, blockId, name, since, reason } of openRun?.waitingFor ?? []) {
          const why = reason === null ? "" : `: ${reason}`;
          print(`  ${id} ${blockId} ${printable(name)}: ${kind} since ${dateAndTime(since, "minute")}${why}`);
        }
    if (next !== null)
      note(`${moreWords(total - conversations.length, options)}: --limit 0 shows all, --after ${next} the next`);
    if (asJson > 0)
      note(
        `${grouped(asJson)} of them written as json, which \`turnlog erase\` erases only as a whole: they began so, or in a file of an older turnlog that another process had open`,
      );
    if (hidden > 0) note(`${grouped(hidden)} hidden; --all shows them`);
    else if (total === 0)
      note(
        options.label !== undefined
          ? "no conversation has that label"
          : isNarrowed(options)
            ? "no conversation matches"
            : `the store ${shownUrl(storeUrl)} holds no conversations yet`,
      );
  },
});

const isNarrowed = ({ since, until, state, losses, waiting }: Options): boolean =>
  [since, until, state, losses, waiting].some((filter) => filter !== undefined);

function moreWords(left: number, { state, sort, reverse, after, waiting }: Options): string {
  // If a page was filtered, or starts later, the total says nothing about what follows.
  if (after !== undefined || waiting !== undefined || (state !== undefined && state !== "open"))
    return "there may be more";
  if (sort === "startedAt" || reverse === true) return `${grouped(left)} more`;
  return `${grouped(left)} more, older`;
}

function labelWords(name: string, value: string): string {
  if (name === hiddenLabel) return "hidden";
  return value === "" ? name : `${name}=${value}`;
}

const savedWords = (listed: Listed): string => (listed.bytesSent === 0 ? "" : `~${savedPercent(listed)} % saved`);

function runWords({ state, waitingFor, isDecided }: NonNullable<Listed["openRun"]>): string {
  switch (state) {
    case "running":
      return "running";
    case "cut-off":
      return isDecided ? "run is decided: `turnlog resume` goes on with it" : "run cut off";
    case "elsewhere":
      return "run open on another machine";
    case "parked":
      return `run is parked: ${counted(waitingFor.length, "call")} to ${waitingFor.every(({ kind }) => kind === "approval") ? "approve" : "settle"}`;
  }
}

function titleWords({ isDamaged, openRun, origin, parent, title, begins, labels }: Listed): string {
  const marks = [
    isDamaged ? "[damaged]" : "",
    openRun === null ? "" : `[${runWords(openRun)}]`,
    parent === null ? "" : `[${origin} of ${parent.slice(0, 12)}]`,
  ];
  const labelled = Object.entries(labels).map(([name, value]) => `[${excerpt(labelWords(name, value), 40)}]`);
  return [...marks, ...labelled, title ?? begins ?? ""].filter((word) => word !== "").join(" ");
}
