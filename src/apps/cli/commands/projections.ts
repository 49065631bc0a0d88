import type * as z from "zod";
import type { AnyProjector } from "../../../analysis/lists/any-projector.ts";
import { counted, grouped } from "../../../base/counted.ts";
import { printable } from "../../../base/printable.ts";
import { readModels } from "../../../conversation/read-models.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { conversationOfStream, conversationStream } from "../../../domain/ids.ts";
import { maxBehind } from "../../../log/read-models/status.ts";
import { rowsOfStream, searchTexts, streamOfRow } from "../../../projections/views/search-texts.ts";
import { quarantineDocument, rebuildDocument, retryDocument, statusDocument } from "../../documents/stores.ts";
import { commandCode } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { findConversation } from "../find.ts";

/**
 * All read models, or the named one.
 *
 * @throws {UsageError} if there is none of that name.
 */
function chosen(models: readonly AnyProjector[], name: string | undefined): readonly AnyProjector[] {
  const found = models.filter((model) => name === undefined || model.name === name);
  if (found.length > 0) return found;
  throw new UsageError(
    `there is no projection '${name ?? ""}': there are ${models.map((model) => model.name).join(" and ")}; \`turnlog help projections\` lists their commands`,
  );
}

export const status = commandCode({
  document: statusDocument,

  async *run(context, { arguments: [name] }) {
    await using store = await context.openStore("read");
    // The state belongs to a running projector, and none runs here.
    const states = await Promise.all(chosen(readModels(store.events), name).map((projector) => projector.status()));
    yield { projections: states.map(({ state: _, ...told }) => told) };
  },

  render({ projections }, { style, table }) {
    table(
      projections.map(({ name, version, builtVersion, events, behind, degraded, quarantined }) => [
        { text: name, style: style.bold },
        builtVersion === null
          ? "not built yet"
          : `version ${builtVersion}${builtVersion === version ? "" : ` of ${version}`}`,
        counted(events, "event"),
        behind === 0
          ? { text: "up to date", style: style.good }
          : `${grouped(behind)}${behind === maxBehind ? " or more" : ""} behind`,
        degraded === 0
          ? ""
          : {
              text: `${counted(degraded, "conversation")} degraded by ${counted(quarantined, "event")}`,
              style: style.bad,
            },
      ]),
    );
  },
});

export const rebuild = commandCode({
  document: rebuildDocument,

  async *run(context, { arguments: [name] }) {
    await using store = await context.openStore("write");
    const { signal, storeUrl } = context;
    const total = storeUrl.startsWith("sqlite:") ? await totalEvents(store) : undefined;
    const rebuilt = [];
    for (const projector of chosen(readModels(store.events), name)) {
      await context.progress(`rebuilding ${projector.name}`, (update) =>
        projector.rebuild({ signal, onProgress: (events) => update(events, total) }),
      );
      // The old rows remain in use; the next rebuild starts again.
      if (signal.aborted) return exitCodes.interrupted;
      const { events, degraded } = await projector.status();
      rebuilt.push({ name: projector.name, events, degraded });
    }
    yield { rebuilt };
    return exitCodes.ok;
  },

  render({ rebuilt }, { print }) {
    for (const { name, events, degraded } of rebuilt)
      print(`${name} rebuilt from ${counted(events, "event")}, ${grouped(degraded)} degraded`);
  },
});

/** The number of events to read. Not called for a server, which would have to read its whole log to count. */
async function totalEvents(store: TurnlogStore): Promise<number> {
  let total = 0;
  for await (const { head } of store.events.heads("conversation-")) total += head.revision + 1;
  return total;
}

/** The conversation of a row: in the search index a conversation has many rows. */
const conversationOf = ({ name }: AnyProjector, key: string): string =>
  conversationOfStream(name === searchTexts.name ? streamOfRow(key) : key) ?? key;

/** The rows of one conversation. */
async function keysOf(store: TurnlogStore, { name }: AnyProjector, stream: string): Promise<readonly string[]> {
  if (name !== searchTexts.name) return [stream];
  return rowsOfStream(stream, ((await store.events.head(stream))?.revision ?? -1) + 1);
}

export const quarantine = commandCode({
  document: quarantineDocument,

  async *run(context, { arguments: [name] }) {
    await using store = await context.openStore("write");
    const degraded = [];
    for (const projector of chosen(readModels(store.events), name)) {
      // Rows must be up to date before anything can be said to be missing.
      await projector.catchUp();
      for (const { key, quarantine: lacking } of await projector.degraded()) {
        const { events, first } = lacking ?? { events: 0, first: [] };
        degraded.push({ projection: projector.name, conversation: conversationOf(projector, key), events, first });
      }
    }
    yield { degraded };
  },

  render({ degraded }, { style, table, note }) {
    if (degraded.length === 0) note("no event is in quarantine");
    table(
      degraded.flatMap(({ projection, conversation, events, first }) => [
        ...first.map(({ revision, type, version, reason }) => [
          { text: projection, style: style.dim },
          { text: printable(`${conversation}@${revision}`), style: style.bold },
          printable(`${type} version ${version}`),
          { text: printable(reason), style: style.bad },
        ]),
        ...(events > first.length
          ? [[projection, printable(conversation), `and ${grouped(events - first.length)} more`]]
          : []),
      ]),
    );
  },
});

type Retried = z.infer<typeof retryDocument>["retried"][number];

/** Rebuilds the rows of one conversation, or all incomplete ones. */
export const retry = commandCode({
  document: retryDocument,

  async *run(context, { arguments: [name] }) {
    await using store = await context.openStore("write");
    const named = name === undefined ? null : conversationStream((await findConversation(store, name)).id);
    const retried: Retried[] = [];
    for (const projector of readModels(store.events)) {
      await projector.catchUp();
      const degraded = new Set((await projector.degraded()).map(({ key }) => key));
      const keys = named === null ? [...degraded] : await keysOf(store, projector, named);
      const about = { projection: projector.name };
      await context.progress(`retrying for ${projector.name}`, async (update) => {
        for (const [index, key] of keys.entries()) {
          const view = await projector.retry(key);
          const told = { conversation: conversationOf(projector, key), wasDegraded: degraded.has(key) };
          if (view !== null) retried.push({ ...about, ...told, events: view.quarantine?.events ?? 0 });
          update(index + 1, keys.length);
        }
      });
    }
    yield { retried };
    return retried.every(({ events }) => events === 0) ? exitCodes.ok : exitCodes.integrity;
  },

  render({ retried }, { style, table, note }) {
    if (retried.length === 0) note("there was nothing to retry");
    table(
      retried.map(({ projection, conversation, events, wasDegraded }) => [
        { text: projection, style: style.dim },
        { text: printable(conversation), style: style.bold },
        events === 0
          ? { text: wasDegraded ? "whole again" : "lacked nothing, made anew", style: style.good }
          : { text: `still lacks ${counted(events, "event")}`, style: style.bad },
      ]),
    );
  },
});
