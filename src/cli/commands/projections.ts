import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { conversationOfStream, conversationStream } from "../../domain/ids.ts";
import { counted, grouped, printable } from "../../projections/wording.ts";
import { maxBehind, type ProjectorStatus } from "../../read-models/status.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";
import { type AnyProjector, findReadModel, readModels } from "../read-models.ts";
import { tableLines } from "../table.ts";

/** How the read models stand; makes them anew, shows what they lack, and tries that again. */
export const run: CommandHandler = async (context, { arguments: [action = "status", name] }) => {
  const act = actions.get(action);
  if (act === undefined)
    throw new UsageError(`\`turnlog projections\` does ${[...actions.keys()].join(", ")}, not '${action}'`);
  await using store = await context.openStore({ mustExist: true, isWritten: act !== printStatus });
  return await act(context, store, name);
};

type Action = (context: CliContext, store: TurnlogStore, name: string | undefined) => Promise<ExitCode>;

// What is lacking, and whether it still is, can be said of rows that are up to date.
const actions: ReadonlyMap<string, Action> = new Map([
  ["status", printStatus],
  ["rebuild", rebuild],
  ["quarantine", printQuarantine],
  ["retry", retry],
]);

/** All read models, or the one that was named. */
const chosen = ({ events }: TurnlogStore, name: string | undefined): readonly AnyProjector[] =>
  name === undefined ? readModels(events) : [findReadModel(events, name)];

async function printStatus(context: CliContext, store: TurnlogStore, name: string | undefined): Promise<ExitCode> {
  const states: Omit<ProjectorStatus, "state">[] = [];
  for (const projector of chosen(store, name)) {
    // State and rate are those of a projector that runs, and none does here.
    const { name: model, version, builtVersion, events, behind, degraded, quarantined } = await projector.status();
    states.push({ name: model, version, builtVersion, events, behind, degraded, quarantined });
  }
  if (context.isJson) {
    context.printJson({ projections: states });
    return exitCodes.ok;
  }
  const { style } = context;
  const rows = states.map(({ name: model, version, builtVersion, events, behind, degraded, quarantined }) => [
    { text: model, style: style.bold },
    builtVersion === null
      ? "not built yet"
      : `version ${builtVersion}${builtVersion === version ? "" : ` of ${version}`}`,
    counted(events, "event"),
    behind === 0
      ? { text: "up to date", style: style.good }
      : `${grouped(behind)}${behind === maxBehind ? " or more" : ""} behind`,
    degraded === 0
      ? ""
      : { text: `${counted(degraded, "conversation")} degraded by ${counted(quarantined, "event")}`, style: style.bad },
  ]);
  for (const line of tableLines(rows, context)) context.print(line);
  return exitCodes.ok;
}

async function rebuild(context: CliContext, store: TurnlogStore, name: string | undefined): Promise<ExitCode> {
  const total = await totalEvents(context, store);
  const rebuilt: { readonly name: string; readonly events: number; readonly degraded: number }[] = [];
  for (const projector of chosen(store, name)) {
    const progress = context.progress(`rebuilding ${projector.name}`);
    const onProgress = (events: number): void => {
      progress.update(events, total);
    };
    await projector.rebuild({ signal: context.signal, onProgress });
    progress.end();
    // The rows that were there are the ones that are read; the next rebuild begins anew.
    if (context.signal.aborted) return exitCodes.interrupted;
    const { events, degraded } = await projector.status();
    rebuilt.push({ name: projector.name, events, degraded });
  }
  if (context.isJson) context.printJson({ rebuilt });
  else
    for (const { name: model, events, degraded } of rebuilt)
      context.print(`${model} rebuilt from ${counted(events, "event")}, ${grouped(degraded)} degraded`);
  return exitCodes.ok;
}

/** How many events there are to take in; a server has to read its whole log to tell, and is not asked. */
async function totalEvents({ storeUrl }: CliContext, store: TurnlogStore): Promise<number | undefined> {
  if (!storeUrl.startsWith("sqlite:")) return undefined;
  let total = 0;
  for await (const { head } of store.events.heads("conversation-")) total += head.revision + 1;
  return total;
}

async function printQuarantine(context: CliContext, store: TurnlogStore, name: string | undefined): Promise<ExitCode> {
  const listed = [];
  for (const projector of chosen(store, name)) {
    await projector.catchUp();
    for (const { key, quarantine } of await projector.degraded()) {
      const { events, first } = quarantine ?? { events: 0, first: [] };
      listed.push({ projection: projector.name, conversation: conversationOfStream(key) ?? key, events, first });
    }
  }
  if (context.isJson) {
    context.printJson({ degraded: listed });
    return exitCodes.ok;
  }
  if (listed.length === 0) context.note("nothing is in quarantine");
  const { style } = context;
  const rows = listed.flatMap(({ projection, conversation, events, first }) => [
    ...first.map(({ revision, type, version, reason }) => [
      { text: projection, style: style.dim },
      { text: printable(`${conversation}@${revision}`), style: style.bold },
      printable(`${type} version ${version}`),
      { text: printable(reason), style: style.bad },
    ]),
    ...(events > first.length
      ? [[projection, printable(conversation), `and ${grouped(events - first.length)} more`]]
      : []),
  ]);
  for (const line of tableLines(rows, context)) context.print(line);
  return exitCodes.ok;
}

/** Makes the views of one conversation anew, or all that lack something. */
async function retry(context: CliContext, store: TurnlogStore, name: string | undefined): Promise<ExitCode> {
  const key = name === undefined ? null : conversationStream((await findConversation(store, name)).id);
  const retried: Retried[] = [];
  for (const projector of readModels(store.events)) {
    await projector.catchUp();
    const degraded = await projector.degraded();
    const keys = key === null ? degraded.map((view) => view.key) : [key];
    const progress = context.progress(`retrying for ${projector.name}`);
    for (const [index, each] of keys.entries()) {
      const view = await projector.retry(each);
      const conversation = conversationOfStream(each) ?? each;
      if (view !== null)
        retried.push({
          ...{ projection: projector.name, conversation, events: view.quarantine?.events ?? 0 },
          hadAll: !degraded.some((before) => before.key === each),
        });
      progress.update(index + 1, keys.length);
    }
    progress.end();
  }
  const isWhole = retried.every(({ events }) => events === 0);
  if (context.isJson) context.printJson({ retried: retried.map(({ hadAll: _, ...told }) => told) });
  else printRetried(context, retried);
  return isWhole ? exitCodes.ok : exitCodes.integrity;
}

type Retried = {
  readonly projection: string;
  readonly conversation: string;
  /** How many events it lacks now. */
  readonly events: number;
  readonly hadAll: boolean;
};

function printRetried(context: CliContext, retried: readonly Retried[]): void {
  const { style } = context;
  if (retried.length === 0) context.note("there was nothing to try again");
  const rows = retried.map(({ projection, conversation, events, hadAll }) => [
    { text: projection, style: style.dim },
    { text: printable(conversation), style: style.bold },
    events === 0
      ? { text: hadAll ? "lacked nothing, made anew" : "whole again", style: style.good }
      : { text: `still lacks ${counted(events, "event")}`, style: style.bad },
  ]);
  for (const line of tableLines(rows, context)) context.print(line);
}
