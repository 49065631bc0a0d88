import { blockFromJson } from "../../domain/block-json.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { readEach } from "../../engine/read-each.ts";
import type { TurnlogStore } from "../../engine/turnlog-store.ts";
import { excerpt, grouped } from "../../projections/wording.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { conversationHeads } from "../find.ts";
import { numberOption } from "../options.ts";
import { tableLines } from "../table.ts";

type ListedConversation = {
  readonly id: ConversationId;
  readonly title: string | null;
  /** How the first user message begins. */
  readonly begins: string | null;
  readonly events: number;
  readonly requests: number;
  readonly lastAt: string;
  readonly isRunOpen: boolean;
  /** An event cannot be read: `turnlog verify` says which. */
  readonly isDamaged: boolean;
};

/** The conversations of the store, the one written last first. */
export const run: CommandHandler = async (context, { options }) => {
  const limit = numberOption(options, "limit", { least: 0 }) ?? 0;
  await using store = await context.openStore({ mustExist: true });
  const heads = await conversationHeads(store);
  const wanted = limit === 0 ? heads : heads.slice(0, limit);
  const progress = context.progress("reading conversations");
  const listed: ListedConversation[] = [];
  for (const { id, revision, at } of wanted) {
    listed.push({ ...(await readConversation(store, id)), id, events: revision + 1, lastAt: at });
    progress.update(listed.length, wanted.length);
  }
  progress.end();
  if (context.isJson) context.printJson({ conversations: listed, total: heads.length });
  else print(context, listed, heads.length);
};

function print(context: CliContext, listed: readonly ListedConversation[], total: number): void {
  const { dim, bold } = context.style;
  if (total === 0) context.note(`the store ${context.storeUrl} holds no conversation yet`);
  const rows = listed.map(({ id, title, begins, events, requests, lastAt, isRunOpen, isDamaged }) => [
    { text: id, style: bold },
    { text: lastAt.slice(0, 19).replace("T", " "), style: dim },
    `${grouped(events)} events`,
    `${grouped(requests)} requests`,
    `${isDamaged ? "[damaged] " : ""}${isRunOpen ? "[run open] " : ""}${title ?? begins ?? ""}`,
  ]);
  for (const line of tableLines(rows, context)) context.print(line);
  if (listed.length < total) context.note(`${grouped(total - listed.length)} older ones; --limit 0 shows all`);
}

async function readConversation(store: TurnlogStore, id: ConversationId) {
  let title: string | null = null;
  let begins: string | null = null;
  let requests = 0;
  let isRunOpen = false;
  let isDamaged = false;
  for await (const reading of readEach(store.events, conversationStream(id))) {
    isDamaged ||= !reading.isRead;
    if (!reading.isRead) continue;
    const { event } = reading.recorded;
    switch (event.type) {
      case "ConversationStarted":
      case "ConversationRelabelled":
        title = event.data.title === undefined ? title : excerpt(event.data.title, 80);
        break;
      case "BlockAppended":
        if (event.data.block.kind === "user") begins ??= excerpt(blockFromJson(event.data.block).text, 80);
        break;
      case "InferenceRequested":
        requests += 1;
        break;
      case "RunStarted":
        isRunOpen = true;
        break;
      case "RunCompleted":
      case "RunFailed":
      case "RunCancelled":
        isRunOpen = false;
        break;
      default:
    }
  }
  return { title, begins, requests, isRunOpen, isDamaged };
}
