import type * as z from "zod";
import { listConversations } from "../../conversation/list.ts";
import { hiddenLabel } from "../../domain/labels.ts";
import { counted, excerpt, grouped } from "../../projections/wording.ts";
import { dateAndTime } from "../block-rows.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { shownUrl } from "../context.ts";
import { lsDocument } from "../documents/stores.ts";
import { savedPercent } from "../saved-percent.ts";

type Options = { readonly limit: number; readonly label?: Readonly<Record<string, string>>; readonly all?: boolean };
type Listed = z.infer<typeof lsDocument>["conversations"][number];

/** The conversations of the store, the one written last first. */
export const ls = commandCode({
  document: lsDocument,

  async *run(context, { options: { limit, label: labels = {}, all: withHidden = false } }: CommandInput<Options>) {
    await using events = await context.openEvents();
    const asked = { limit: limit === 0 ? Number.MAX_SAFE_INTEGER : limit, labels, withHidden };
    const { conversations, total, hidden } = await context.progress("events read", (onProgress) =>
      listConversations(events, { ...asked, onProgress }),
    );
    yield { conversations, total, hidden };
  },

  render({ conversations, total, hidden }, { style, storeUrl, table, note }, { options }: CommandInput<Options>) {
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
    if (conversations.length < total) note(`${grouped(total - conversations.length)} more, older: --limit 0 shows all`);
    if (hidden > 0) note(`${grouped(hidden)} hidden; --all shows them`);
    else if (total === 0)
      note(
        options.label !== undefined
          ? "no conversation has that label"
          : `the store ${shownUrl(storeUrl)} holds no conversation yet`,
      );
  },
});

function labelWords(name: string, value: string): string {
  if (name === hiddenLabel) return "hidden";
  return value === "" ? name : `${name}=${value}`;
}

const savedWords = (listed: Listed): string => (listed.bytesSent === 0 ? "" : `~${savedPercent(listed)} % saved`);

function runWords({ state, inDoubt }: NonNullable<Listed["openRun"]>): string {
  switch (state) {
    case "running":
      return "running";
    case "cut-off":
      return "run cut off";
    case "elsewhere":
      return "run open on another machine";
    case "parked":
      return `run waits: ${counted(inDoubt, "call")} to settle`;
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
