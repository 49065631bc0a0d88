import type { BlockNames } from "../../domain/block-names.ts";
import { Turn } from "../../domain/turn.ts";
import { ConversationFold } from "../aggregate/conversation-fold.ts";
import { SkippedEvents } from "../history/skipped-events.ts";
import type { SnapshotStore } from "../ports/snapshot-store.ts";
import { turnOfChunks } from "./chunks.ts";
import { readList } from "./lists.ts";
import { SavedNames } from "./names.ts";
import { restoreFacts, type SavedFacts, savedFacts } from "./server-context-rows.ts";
import type { ReadSnapshot } from "./snapshot.ts";

/** A fold that started from a snapshot, and the earlier names. */
export type RestoredFold = { readonly fold: ConversationFold; readonly names: SavedNames };

/** The fold that a snapshot saved; undefined if one of its lists cannot be read or does not fit. */
export async function restoreFold(
  store: SnapshotStore,
  { stream, names }: { readonly stream: string; readonly names: BlockNames },
  { revision, digest, data }: ReadSnapshot,
): Promise<RestoredFold | undefined> {
  const textByName = new Map<string, string>();
  for (const [name] of [...data.turn, ...data.newest.flatMap(({ rest }) => rest)]) {
    const text = textByName.get(name) ?? (await readList(store, { stream, name }));
    if (text === undefined) return undefined;
    textByName.set(name, text);
  }
  const rows = await readFacts(store, { stream, name: data.facts });
  if (rows === undefined) return undefined;
  const skipped = new SkippedEvents();
  for (const place of data.skipped) skipped.add(...place);
  const fold = new ConversationFold(stream, { ancestors: new Map(data.ancestors), skipped });
  const { view } = fold;
  const { client, server, newest, latest } = view;
  for (const each of rows) restoreFacts(server, each);
  const lists = { stream, names, textByName };
  client.committed = turnOfChunks(Turn.empty, data.turn, lists);
  for (const { scope, inferenceId, shared, rest, isLatest = false } of data.newest) {
    const context = server.contexts.ofInference(inferenceId);
    if (context === null) return undefined;
    const turn = turnOfChunks(client.committed.slice(shared), rest, lists);
    if (isLatest) latest.set(scope, { context, turn });
    if (context.unusable !== "no-id") newest.set(scope, { context, turn });
  }
  const { answeredLength, interrupted, notes, origin, title, labels, spent, lastAt } = data;
  Object.assign(client.answers, { answeredLength, interrupted, notes });
  Object.assign(view, { origin, title, labels, spent });
  for (const scope of data.lostScopes) server.lostScopes.add(scope);
  Object.assign(fold, { head: { revision, digest }, lastAt, base: { stream, revision } });
  return { fold, names: new SavedNames(fold.names, { lists: rows.flatMap((each) => each.names) }) };
}

/** All facts, oldest first; undefined if one of them cannot be read. */
export async function readFacts(
  store: SnapshotStore,
  newest: { readonly stream: string; readonly name: string | null },
): Promise<readonly SavedFacts[] | undefined> {
  const lists: SavedFacts[] = [];
  for (let { name } = newest; name !== null; name = lists.at(-1)?.before ?? null) {
    const text = await readList(store, { stream: newest.stream, name });
    const facts = text === undefined ? undefined : savedFacts(text);
    if (facts === undefined) return undefined;
    lists.push(facts);
  }
  return lists.reverse();
}
