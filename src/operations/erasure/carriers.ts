import { type JsonObject, objectOf } from "../../base/json.ts";
import type { Block } from "../../domain/block.ts";
import { isRequest } from "../../domain/events/event.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { type ConversationId, conversationStream } from "../../domain/ids.ts";
import { buildRequest } from "../../engine/planning/build-request.ts";
import { quotedCalls } from "../../engine/planning/late-result.ts";
import {
  type Codecs,
  inputTurn,
  outgoingTurn,
  recordedRequest,
  requestOf,
} from "../../engine/recorded/recorded-request.ts";
import { foldWhole } from "../../log/aggregate/fold.ts";
import { decodeData } from "../../log/codec/data.ts";
import { contentLines } from "../../log/codec/line-places.ts";
import { linesOf, withErasedLines } from "../../log/codec/lines.ts";
import { isOfTheStore } from "../../log/codec/recorded.ts";
import { type EventStore, envelopeAt } from "../../log/ports/event-store.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { LinePlaces } from "./line-places.ts";

/** A request of the lineage. */
type Request = { readonly id: ConversationId; readonly revision: number };

/**
 * Adds the proofs of all requests that carried what is to be erased, because a digest of the body would confirm a guess of it, and the settings
 * that contain it as instructions. Requests that did not carry it stay provable.
 */
export async function carriersIn(
  store: EventStore,
  lineage: readonly ConversationId[],
  { places, codecs }: { readonly places: LinePlaces; readonly codecs: Codecs },
): Promise<void> {
  const names = places.namesIn(lineage);
  // Of what was erased before, requests have carried only the stand-in since.
  const isErased = (block: Block): boolean => !block.isErased && names.has(block.recordedAs);
  const carriers: Request[] = [];
  const settings = new Set<string>();
  const declared: (Request & { readonly digest: string; readonly base: string | null })[] = [];
  for (const id of lineage)
    await foldOwn(store, id, {
      unknown: (revision) => carriers.push({ id, revision }),
      note(recorded, view) {
        const { event, revision } = recorded;
        if (event.type === "SettingsDeclared") {
          const { digest, base = null } = event.data;
          declared.push({ id, revision, digest, base });
          if (places.hasEvent(id, revision)) settings.add(digest);
        }
        if (!isRequest(event)) return;
        if (instructionsOf(view, recorded).some(isErased)) settings.add(event.data.settingsDigest);
        if (sentBy(view, recorded).some(isErased)) carriers.push({ id, revision });
      },
    });
  // Settings that say only how they differ from others contain what those contain.
  for (const { digest, base } of declared) if (base !== null && settings.has(base)) settings.add(digest);
  for (const { id, revision, digest } of declared)
    if (settings.has(digest)) await addLines(store, places, { id, revision, holds: "rest" });
  for (const id of settings.size === 0 ? [] : lineage)
    await foldOwn(store, id, {
      unknown: () => undefined,
      note(recorded, view) {
        const { event, revision } = recorded;
        if (!isRequest(event) || !settings.has(event.data.settingsDigest)) return;
        if (hasSettings(view, recorded, codecs)) carriers.push({ id, revision });
      },
    });
  for (const { id, revision } of carriers) await addLines(store, places, { id, revision, holds: "proof" });
}

/** The system blocks that a request puts into its instructions. */
function instructionsOf(view: ConversationView, recorded: RecordedEvent): readonly Block[] {
  const { input } = requestOf(recorded);
  if (input.outgoing === undefined) return [];
  const whole = outgoingTurn(view, recorded);
  return whole.blocks.slice(0, whole.length - input.blocks);
}

/** The blocks that a request sends, or quotes in the message about a late result. */
function sentBy(view: ConversationView, recorded: RecordedEvent): readonly Block[] {
  const { decision } = requestOf(recorded);
  const omitted = new Set(decision.repairs.flatMap(({ rule, index }) => (rule === "omit" ? [index] : [])));
  const turn = inputTurn(view, recorded);
  const sent = turn.after(decision.sendFrom).filter((_, offset) => !omitted.has(decision.sendFrom + offset));
  return [...sent, ...quotedCalls(decision.repairs, turn)];
}

/** Whether the content of a request's settings shows in its body: what continues a thread may not repeat them. Unknown counts as yes. */
function hasSettings(view: ConversationView, recorded: RecordedEvent, codecs: Codecs): boolean {
  try {
    const request = recordedRequest(view, recorded, codecs);
    const { bodyText, bodyWith } = buildRequest(request, requestOf(recorded).decision);
    return bodyWith(factsOf(request.settings)) !== bodyText;
  } catch {
    return true;
  }
}

/** What is left of settings when their content is erased. */
function factsOf(settings: JsonObject): JsonObject {
  const event = { type: "SettingsDeclared", version: 2 } as const;
  const data = linesOf({ settings }, event, () => "");
  const all = new Set(data.split("\n").keys());
  return objectOf(decodeData({ ...event, encoding: "lines", data: withErasedLines(data, all) }).data["settings"]);
}

type Noting = {
  /** Called with the events of the conversation's own stream. */
  readonly note: (recorded: RecordedEvent, view: ConversationView) => void;
  /** Called for each request of a stream that cannot be folded: any of them may have carried it. */
  readonly unknown: (revision: number) => void;
};

async function foldOwn(store: EventStore, id: ConversationId, { note, unknown }: Noting): Promise<void> {
  const stream = conversationStream(id);
  const head = await store.head(stream);
  if (head === null) return;
  try {
    await foldWhole({ store }, stream, head.revision, () => (recorded, view) => {
      if (recorded.stream === stream) note(recorded, view);
    });
  } catch (error) {
    if (isOfTheStore(error)) throw error;
    for await (const { type, revision } of store.readStream(stream))
      if (type === "InferenceRequested" || type === "WarmUpRequested") unknown(revision);
  }
}

type Added = { readonly id: ConversationId; readonly revision: number; readonly holds: "proof" | "rest" };

async function addLines(store: EventStore, places: LinePlaces, { id, revision, holds }: Added): Promise<void> {
  const envelope = await envelopeAt(store, conversationStream(id), revision);
  if (envelope === null) return;
  for (const line of contentLines(envelope)) if (line.holds === holds && !line.isErased) places.add(id, envelope, line);
}
