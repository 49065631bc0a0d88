import { type StreamReport, verifyStore } from "../../audit/verify.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import type { ConversationId } from "../../domain/ids.ts";
import type { Head } from "../../log/ports/event-store.ts";
import { counted, excerpt, printable } from "../../projections/wording.ts";
import { codecs } from "../../providers/codecs.ts";
import type { SavedHeads } from "../../stores/saved-heads.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { readHeads, writeHeads } from "../heads-file.ts";
import { textOption } from "../options.ts";
import { readModels } from "../read-models.ts";

/** Checks what the store holds, and names the first bad revision of every stream that is damaged. */
export const run: CommandHandler = async (context, { arguments: names, options }) => {
  const [headsPath, savePath] = [textOption(options, "heads"), textOption(options, "saveHeads")];
  const saved = headsPath === null ? null : await readHeads(headsPath);
  await using store = await context.openStore({ mustExist: true });
  const result = await verify(context, store, names, saved);
  const isSound = result.damaged.length === 0;
  const isSaved = savePath !== null && isSound;
  if (isSaved) await writeHeads(savePath, { storeId: store.events.storeId, heads: result.heads });
  if (context.isJson) {
    const { streams, events, requests, damaged, skipped } = result;
    const problems = damaged.map(({ stream, conversation, problem }) => ({ stream, conversation, ...problem }));
    context.printJson({ streams, events, requests, problems, skipped, savedHeads: isSaved ? savePath : null });
  } else {
    print(context, result, store.events.storeId, saved);
    if (isSaved)
      context.note(`heads saved in ${savePath}: keep the file where who can write the store cannot write it`);
    else if (savePath !== null) context.note(`heads not saved: the store is damaged`);
  }
  return isSound ? exitCodes.ok : exitCodes.integrity;
};

type Result = {
  streams: number;
  events: number;
  requests: number;
  readonly damaged: StreamReport[];
  /** What an operator decided to go on without. */
  readonly skipped: (Pick<StreamReport, "stream" | "conversation"> & StreamReport["skipped"][number])[];
  readonly heads: Map<string, Head>;
};

async function verify(
  context: CliContext,
  store: TurnlogStore,
  names: readonly string[],
  saved: SavedHeads | null,
): Promise<Result> {
  const conversations: ConversationId[] = [];
  for (const name of names) conversations.push((await findConversation(store, name)).id);
  const result: Result = { streams: 0, events: 0, requests: 0, damaged: [], skipped: [], heads: new Map() };
  const progress = context.progress("events verified");
  let seen = 0;
  const reports = verifyStore(store.events, {
    codecs,
    onEvent() {
      seen += 1;
      progress.update(seen);
    },
    readModels: store.events.views === undefined ? [] : readModels(store.events),
    ...(names.length === 0 ? {} : { conversations }),
    ...(saved === null ? {} : { savedHeads: saved.heads }),
  });
  for await (const report of reports) {
    result.streams += 1;
    result.events += report.events;
    result.requests += report.requests;
    const { stream, conversation } = report;
    if (report.problem !== null) result.damaged.push(report);
    result.skipped.push(...report.skipped.map((event) => ({ stream, conversation, ...event })));
    if (report.head !== null) result.heads.set(stream, report.head);
  }
  progress.end();
  return result;
}

function print(
  context: CliContext,
  { streams, events, requests, damaged, skipped }: Result,
  storeId: string,
  saved: SavedHeads | null,
): void {
  const { style } = context;
  const placeOf = (stream: string, conversation: string | null, revision: number): string =>
    style.bold(printable(`${conversation ?? stream}@${revision}`));
  for (const { stream, conversation, problem } of damaged) {
    if (problem === null) continue;
    const place = placeOf(stream, conversation, problem.revision);
    context.print(`${style.bad("damaged")}  ${place}  ${printable(problem.message)}`);
  }
  for (const { stream, conversation, revision, reason } of skipped) {
    context.print(`${style.warn("skipped")}  ${placeOf(stream, conversation, revision)}  ${excerpt(reason, 160)}`);
  }
  if (saved !== null && saved.storeId !== storeId)
    context.note("the heads were saved from another store than this one");
  const what = `${counted(streams, "stream")}, ${counted(events, "event")} and ${counted(requests, "request")} verified`;
  const verdict =
    damaged.length === 0 ? style.good("all sound") : style.bad(`${counted(damaged.length, "stream")} damaged`);
  context.print(`${what}: ${verdict}${skipped.length === 0 ? "" : `, ${counted(skipped.length, "event")} skipped`}`);
}
