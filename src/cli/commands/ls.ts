import type * as z from "zod";
import { conversationOfStream } from "../../domain/ids.ts";
import { comparePositions } from "../../log/ports/event-store.ts";
import { type ConversationListView, conversationList } from "../../projections/conversation-list.ts";
import { counted, grouped } from "../../projections/wording.ts";
import type { ProjectedView } from "../../read-models/live-views.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { shownUrl } from "../context.ts";
import { lsDocument } from "../documents/stores.ts";
import { caughtUp } from "../read-models.ts";

type Listed = z.infer<typeof lsDocument>["conversations"][number];

/** The conversations of the store, the one written last first. */
export const ls = commandCode({
  document: lsDocument,

  async *run(context, { options: { limit } }: CommandInput<{ readonly limit: number }>) {
    await using store = await context.openStore({ mustExist: true });
    const progress = context.progress("events read");
    const projector = await caughtUp(store.events, conversationList, {
      onProgress: (events) => {
        progress.update(events);
      },
    });
    const rows: ProjectedView<ConversationListView>[] = [];
    for await (const row of projector.readAll()) rows.push(row);
    progress.end();
    const newestFirst = rows.toSorted((left, right) => comparePositions(right.position, left.position));
    const conversations = newestFirst.slice(0, limit === 0 ? rows.length : limit).flatMap(listedOf);
    yield { conversations, total: rows.length };
  },

  render({ conversations, total }, { style, storeUrl, table, note }) {
    if (total === 0) note(`the store ${shownUrl(storeUrl)} holds no conversation yet`);
    table(
      conversations.map((listed) => [
        { text: listed.id, style: style.bold },
        { text: listed.lastAt.slice(0, 16).replace("T", " "), style: style.dim },
        counted(listed.events, "event"),
        counted(listed.requests, "request"),
        savedWords(listed),
        titleWords(listed),
      ]),
    );
    if (conversations.length < total) note(`${grouped(total - conversations.length)} older ones; --limit 0 shows all`);
  },
});

function listedOf({ key, view, quarantine }: ProjectedView<ConversationListView>): readonly Listed[] {
  const id = conversationOfStream(key);
  return id === null ? [] : [{ id, ...view.summary, isDamaged: quarantine !== null }];
}

function savedWords({ bytesSent, bytesSaved }: Listed): string {
  return bytesSent === 0 ? "" : `${Math.floor((bytesSaved / (bytesSent + bytesSaved)) * 100)} % saved`;
}

function titleWords({ isDamaged, isRunOpen, origin, parent, title, begins }: Listed): string {
  const marks = [
    isDamaged ? "[damaged]" : "",
    isRunOpen ? "[run open]" : "",
    parent === null ? "" : `[${origin} of ${parent.slice(0, 12)}]`,
  ];
  return [...marks, title ?? begins ?? ""].filter((word) => word !== "").join(" ");
}
