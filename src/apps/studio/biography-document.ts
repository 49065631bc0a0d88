import { actorLabel } from "../../analysis/descriptions/labels.ts";
import { shownText } from "../../analysis/descriptions/shown-text.ts";
import { printable } from "../../base/printable.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import { blocksIn } from "../../domain/events/blocks-in.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { recordedAt } from "../../log/history/read-events.ts";
import type { Blame, BlockChange } from "../../projections/client-turn/blame.ts";
import type { BiographyDocument, BiographyStep } from "./biography-documents.ts";
import { fitting, jsonBytes } from "./by-bytes.ts";
import type { Reel } from "./reel.ts";
import { shownVerdict } from "./step.ts";
import { textDifference } from "./text-difference.ts";

/** What all steps of a biography show of texts at most, and of each at least: the rest is behind their events. */
const [mostCharacters, leastCharacters] = [12_000, 200];

/** How many bytes of differences there are: after that, a step shows its text. */
const mostDifferences = 40_000;

/** How a block came to say what it says; null if no event made it. */
export async function biographyDocument(log: EventLog, reel: Reel, id: string): Promise<BiographyDocument | null> {
  const blame = reel.view.client.blame?.get(id);
  if (blame === undefined) return null;
  const shown = Math.max(leastCharacters, Math.floor(mostCharacters / blame.versions.length));
  let differences = 0;
  const turn = reel.turns.at(-1);
  const place = turn?.blocks.findIndex((block) => block.id === id) ?? -1;
  const steps: BiographyStep[] = [];
  let before: string | null = null;
  for (const [number, version] of blame.versions.entries()) {
    const text = await textOf(log, id, version);
    const what = number === 0 ? "made" : "changed";
    const step = stepOf(reel, version.change, { what, text, before, id, shown });
    differences += jsonBytes(step.difference);
    steps.push(differences > mostDifferences ? { ...step, difference: null } : step);
    before = text;
  }
  for (const { what, change } of endingsOf(blame))
    steps.push(stepOf(reel, change, { what, text: null, before, id, shown }));
  return {
    ...{ conversation: reel.id, id, label: reel.labels.labels.get(id) ?? "block", steps: fitting(steps) },
    index: place < 0 ? null : place,
    characters: before?.length ?? 0,
    previous: place < 1 ? null : (turn?.at(place - 1)?.id ?? null),
    next: place < 0 || turn === undefined || place + 1 >= turn.length ? null : (turn.at(place + 1)?.id ?? null),
  };
}

/** What took the block out of the Turn, and its content out of the log, in the order of time. */
const endingsOf = ({ removed, erased }: Blame) =>
  [
    ...(removed === null ? [] : [{ what: "removed" as const, change: removed }]),
    ...(erased === undefined ? [] : [{ what: "erased" as const, change: erased }]),
  ].toSorted((one, other) => (one.change.at < other.change.at ? -1 : 1));

async function textOf(
  log: EventLog,
  id: string,
  { digest, change }: Blame["versions"][number],
): Promise<string | null> {
  const recorded = await recordedAt(log, change.stream, change.revision);
  const json = recorded && blocksIn(recorded.event).find((block) => block.id === id && block.digest === digest);
  return json == null ? null : printable(shownText(blockFromJson(json)));
}

function stepOf(
  reel: Reel,
  { actor, stream, revision, at }: BlockChange,
  {
    what,
    text,
    before,
    id,
    shown,
  }: Pick<BiographyStep, "what" | "text"> & {
    readonly before: string | null;
    readonly id: string;
    readonly shown: number;
  },
): BiographyStep {
  const layer = actor.kind === "middleware" ? actor.name : null;
  const isOwn = conversationOfStream(stream) === reel.id;
  return {
    ...{ what, revision, at, layer, conversation: conversationOfStream(stream) ?? stream, actor: actorLabel(actor) },
    layerNumber: layer === null ? null : [...reel.layers.keys()].indexOf(layer) + 1,
    text: text === null ? null : text.slice(0, shown),
    characters: text?.length ?? null,
    difference: text === null || before === null ? null : textDifference(before, text),
    broke: isOwn ? brokenBy(reel, { revision, id, layer }) : null,
  };
}

/** The first request behind a change that names it as what ended its chain. */
function brokenBy(
  { steps }: Reel,
  change: { readonly revision: number; readonly id: string; readonly layer: string | null },
): BiographyStep["broke"] {
  const next = steps.find(({ revision }) => revision > change.revision);
  const divergence = next?.data.decision.rejected?.divergence;
  if (next === undefined || divergence?.blockId !== change.id) return null;
  if (divergence.actor?.kind === "middleware" && divergence.actor.name !== change.layer) return null;
  return { revision: next.revision, verdict: shownVerdict(next), bytes: next.data.requestBytes };
}
