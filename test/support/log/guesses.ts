import { isJsonList, isJsonObject, type JsonValue } from "../../../src/base/json.ts";
import { type Sha256, sha256Hex, sha256OfPair } from "../../../src/base/sha256.ts";
import type { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { Block } from "../../../src/domain/block.ts";
import type { BlockJson } from "../../../src/domain/block-json.ts";
import { emptyContext } from "../../../src/domain/context.ts";
import { blocksIn } from "../../../src/domain/events/blocks-in.ts";
import { isRequest } from "../../../src/domain/events/event.ts";
import { isHole, type RecordedEvent } from "../../../src/domain/events/recorded.ts";
import { withoutItemId } from "../../../src/engine/planning/groups.ts";
import { rebuildRequest, recordedRequest } from "../../../src/engine/recorded/recorded-request.ts";
import { type ConversationView, conversationView } from "../../../src/projections/views/conversation-view.ts";

/** The digests that a store's events record, and those among them that follow from contents alone: a guess of the content finds them. */
export type Guessed = { readonly recorded: number; readonly blocks: number; readonly guessed: readonly string[] };

/** Computes every digest of contents that could be in the events: of blocks, contexts chained over them, settings, and layers. */
export async function guessedIn(store: TurnlogStore): Promise<Guessed> {
  const guesses = new Set<Sha256>([configOfMost]);
  const recordedAt = new Map<Sha256, string>();
  let blocks = 0;
  for await (const id of store.conversations()) {
    const stream = `conversation-${id}`;
    let view = conversationView.initial(stream);
    for await (const recorded of store.conversation(id).history()) {
      if (isHole(recorded)) continue;
      view = conversationView.apply(view, recorded);
      for (const json of jsonsIn(recorded)) {
        blocks += 1;
        for (const block of bothForms(new Block(json))) guesses.add(block.digest);
      }
      for (const list of listsIn(view, recorded, store)) addContexts(guesses, list);
      for (const settings of view.server.settings.values()) guesses.add(sha256Hex(JSON.stringify(settings)));
      noteDigests(recordedAt, recorded.event.data, `${recorded.event.type}@${recorded.revision}`);
    }
  }
  guesses.delete(emptyContext);
  const guessed = [...recordedAt].flatMap(([digest, place]) => (guesses.has(digest) ? [place] : []));
  return { recorded: recordedAt.size, blocks, guessed };
}

/** The digest of the configuration of a layer that has none. */
const configOfMost = sha256Hex("null");

const jsonsIn = ({ event }: RecordedEvent): readonly BlockJson[] =>
  event.type === "WarmUpAnswered" ? event.data.output : blocksIn(event);

/** A block counts with or without the id of its item. */
const bothForms = (block: Block): readonly Block[] => [block, withoutItemId(block)];

function listsIn(view: ConversationView, recorded: RecordedEvent, store: TurnlogStore): readonly (readonly Block[])[] {
  const { committed, run } = view.client;
  const lists: (readonly Block[])[] = [committed.blocks];
  if (run !== null) lists.push(run.turns.unfinishedTurn().blocks, run.turns.get(run.turns.newest).blocks);
  if (recorded.frame !== null && run !== null) {
    const { frame } = recorded;
    lists.push(run.turns.given(frame).blocks, run.turns.result(frame)?.blocks ?? []);
  }
  if (!isRequest(recorded.event) || !view.server.settings.has(recorded.event.data.settingsDigest)) return lists;
  const { shaped } = rebuildRequest(view, recorded, store.codecs);
  const sent = shaped.map(({ block, withId }) => (withId ? block : withoutItemId(block)));
  const input = recordedRequest(view, recorded, store.codecs).turn.blocks;
  const bound = (blocks: readonly Block[]): readonly Block[] => blocks.filter(({ kind }) => kind !== "reasoning");
  return [...lists, sent, input, bound(sent), bound(input)];
}

/** The contexts of a list of blocks, chained over the digests of their contents. */
function addContexts(guesses: Set<Sha256>, blocks: readonly Block[]): void {
  let context: Sha256 = emptyContext;
  for (const block of blocks) {
    context = sha256OfPair(context, new Block(block).digest);
    guesses.add(context);
  }
}

function noteDigests(recordedAt: Map<Sha256, string>, value: JsonValue, place: string): void {
  if (typeof value === "string" && /^[0-9a-f]{64}$/.test(value) && value !== emptyContext) recordedAt.set(value, place);
  else if (isJsonList(value)) for (const item of value) noteDigests(recordedAt, item, place);
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) noteDigests(recordedAt, member ?? null, `${place} ${name}`);
}
