import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { conversationView } from "../../projections/conversation-view.ts";
import type { EventLog } from "../codec/event-log.ts";
import type { KeyframeStore } from "../keyframe-store.ts";
import { readRecorded } from "../recorded.ts";
import { type Keyframe, type Restored, readKeyframe, restoreFold } from "./keyframe.ts";
import { KeyframeTaker } from "./taker.ts";

/** A conversation folded up to an event, and where the settings are that were declared before the keyframe. */
export type Folded = Restored & {
  readonly last: RecordedEvent;
  /** Every event was folded: blocks have their contents, and the view its blame. */
  readonly isWhole: boolean;
};

/** The fold of a stream up to a revision that is there: the nearest keyframe, and the events after it. */
export async function foldTo(log: EventLog, stream: string, revision: number): Promise<Folded> {
  const { keyframes } = log.store;
  if (keyframes === undefined) return foldWhole(log, stream, revision);
  const keyframe = await readKeyframe(keyframes, stream, revision);
  const taker = new KeyframeTaker(keyframes, stream, keyframe);
  const folded = (keyframe && (await foldFrom(log, stream, { keyframe, keyframes, taker, to: revision }))) ?? null;
  if (folded !== null) {
    await taker.save();
    return folded;
  }
  const anew = new KeyframeTaker(keyframes, stream, null);
  const whole = await foldWhole(log, stream, revision, anew);
  await anew.save();
  return whole;
}

type Start = {
  readonly keyframe: Keyframe;
  readonly keyframes: KeyframeStore;
  readonly taker: KeyframeTaker;
  readonly to: number;
};

/** Null when something is wrong with the keyframe, or with what follows: the events alone will tell. */
async function foldFrom(
  log: EventLog,
  stream: string,
  { keyframe, keyframes, taker, to }: Start,
): Promise<Folded | null> {
  try {
    const restored = await restoreFold(keyframes, stream, keyframe);
    taker.goOn(restored.view);
    return await foldTail(log, stream, { restored, from: keyframe.revision + 1, to, taker });
  } catch {
    return null;
  }
}

/** The fold of all events up to a revision that is there. */
export async function foldWhole(
  log: EventLog,
  stream: string,
  revision: number,
  taker?: KeyframeTaker,
): Promise<Folded> {
  const restored: Restored = { view: conversationView.initial(stream), settingsPlaces: new Map() };
  const folded = await foldTail(log, stream, { restored, from: 0, to: revision, taker });
  return { ...folded, isWhole: true };
}

type Tail = {
  readonly restored: Restored;
  readonly from: number;
  readonly to: number;
  readonly taker: KeyframeTaker | undefined;
};

async function foldTail(log: EventLog, stream: string, { restored, from, to, taker }: Tail): Promise<Folded> {
  const { view } = restored;
  let last: RecordedEvent | null = null;
  // The event itself is wanted, also where the keyframe was taken right after it.
  for await (const stored of log.read(stream, { from: Math.min(from, to), to, blobs: "resolve" })) {
    last = readRecorded(stored);
    if (last.revision < from) continue;
    const { event } = last;
    // A response is understood with the settings of its request.
    if (event.type === "InferenceRequested") await readSettings(log, stream, restored, event.data.settingsDigest);
    conversationView.apply(view, last);
    taker?.note(view, last);
  }
  if (last === null) throw new Error(`revision ${to} of ${stream} cannot be read`);
  return { view, settingsPlaces: restored.settingsPlaces, last, isWhole: false };
}

/** Puts settings into the view that were declared before its keyframe. */
export async function readSettings(log: EventLog, stream: string, restored: Restored, digest: string): Promise<void> {
  const { settings } = restored.view.server;
  const place = restored.settingsPlaces.get(digest);
  if (place === undefined || settings.has(digest)) return;
  for await (const stored of log.read(stream, { from: place, to: place, blobs: "resolve" })) {
    const { event } = readRecorded(stored);
    if (event.type === "SettingsDeclared") settings.set(event.data.digest, event.data.settings);
  }
}
