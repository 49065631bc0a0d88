import { type ConversationId, conversationOfStream } from "../../domain/ids.ts";
import { comparePositions } from "../../log/ports/event-store.ts";
import {
  type ConversationListView,
  type ConversationSummary,
  conversationList,
} from "../../projections/conversation-list.ts";
import { counted, grouped } from "../../projections/wording.ts";
import type { ProjectedView } from "../../read-models/live-views.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { numberOption } from "../options.ts";
import { caughtUp } from "../read-models.ts";
import { shownUrl } from "../shown-url.ts";
import { tableLines } from "../table.ts";

type ListedConversation = { readonly id: ConversationId } & ConversationSummary & {
    /** An event could not be taken in: `turnlog projections quarantine` says which. */
    readonly isDamaged: boolean;
  };

/** The conversations of the store, the one written last first. */
export const run: CommandHandler = async (context, { options }) => {
  const limit = numberOption(options, "limit", { least: 0 }) ?? 0;
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
  const listed = newestFirst.slice(0, limit === 0 ? rows.length : limit).flatMap(listedOf);
  if (context.isJson) context.printJson({ conversations: listed, total: rows.length });
  else print(context, listed, rows.length);
};

function listedOf({ key, view, quarantine }: ProjectedView<ConversationListView>): readonly ListedConversation[] {
  const id = conversationOfStream(key);
  return id === null ? [] : [{ id, ...view.summary, isDamaged: quarantine !== null }];
}

function print(context: CliContext, listed: readonly ListedConversation[], total: number): void {
  const { dim, bold } = context.style;
  if (total === 0) context.note(`the store ${shownUrl(context.storeUrl)} holds no conversation yet`);
  const rows = listed.map((conversation) => [
    { text: conversation.id, style: bold },
    { text: conversation.lastAt.slice(0, 16).replace("T", " "), style: dim },
    counted(conversation.events, "event"),
    counted(conversation.requests, "request"),
    savedWords(conversation),
    titleWords(conversation),
  ]);
  for (const line of tableLines(rows, context)) context.print(line);
  if (listed.length < total) context.note(`${grouped(total - listed.length)} older ones; --limit 0 shows all`);
}

function savedWords({ bytesSent, bytesSaved }: ListedConversation): string {
  return bytesSent === 0 ? "" : `${Math.floor((bytesSaved / (bytesSent + bytesSaved)) * 100)} % saved`;
}

function titleWords({ isDamaged, isRunOpen, origin, parent, title, begins }: ListedConversation): string {
  const marks = [
    isDamaged ? "[damaged]" : "",
    isRunOpen ? "[run open]" : "",
    parent === null ? "" : `[${origin} of ${parent.slice(0, 12)}]`,
  ];
  return [...marks, title ?? begins ?? ""].filter((word) => word !== "").join(" ");
}
