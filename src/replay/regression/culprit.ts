import { canonicalJson } from "../../base/canonical-json.ts";
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { changedSettings } from "../../engine/planning/request-settings.ts";
import type { Codec } from "../../engine/ports/codec.ts";
import { type Cause, firstCause } from "./first-cause.ts";
import type { RunTrace, TracedRequest } from "./run-trace.ts";

/** What made a conversation differ: a layer, a setting, a tool, a policy or a codec. */
export type Culprit = {
  readonly kind: "layer" | "settings" | "tool" | "policy" | "codec" | "nondeterminism" | "unknown";
  readonly name: string;
  /** Of a layer; null otherwise. */
  readonly version: string | null;
  /** What it did, in a few words. */
  readonly how: string;
  readonly runId: string;
  readonly frame: string;
  /** The first block of the request that differs, from 0; null if that is not known, or none does. */
  readonly block: number | null;
  /**
   * Of a layer, where others acted in the conversation, too: with its earlier version in its place, the request was made otherwise. False if that could
   * not be found out. Null if nothing else acted, or for what is not a layer.
   */
  readonly isConfirmed: boolean | null;
};

/** How the culprit is named in summaries, allowances and reports: `redact@2.1.0`, `settings:model`, `tool:weather`. */
export const culpritName = ({ kind, name, version }: Culprit): string => {
  if (kind === "layer") return version === null ? name : `${name}@${version}`;
  return `${kind}:${name}`;
};

/** Two executions of a run. */
export type Compared = {
  readonly before: RunTrace;
  readonly now: RunTrace;
  /** Reads the settings of the changed stack. */
  readonly codec: Codec;
  /** What the conversation differs by since an earlier run; null if it did not differ before. */
  readonly earlier: Culprit | null;
};

/** A request as both sides made it; null on the side that did not. */
export type RequestPair = { readonly before: TracedRequest | null; readonly now: TracedRequest | null };

/** Names the culprit of a request that differs, or with no pair, of a run that ends otherwise. */
export function culpritOf(compared: Compared, pair: RequestPair | null): Culprit {
  const { before, now, earlier } = compared;
  const frame = (pair?.now ?? pair?.before)?.frame ?? now.end?.thrownBy?.frame ?? "0";
  const place = { runId: now.runId, frame, block: null, isConfirmed: null };
  if (before.base !== now.base) return earlier ?? unknownCulprit(place);
  if (pair?.before != null && pair.now !== null && pair.before.context === pair.now.context) {
    if (pair.before.settingsDigest !== pair.now.settingsDigest)
      return settingsCulprit(compared, pair.before, pair.now, place);
    return policyCulprit(compared, place) ?? earlier ?? codecCulprit(pair.before, pair.now, place);
  }
  // What a run that fails now does not ask any more is missing because of the failure.
  const ended = pair?.now === null ? endCulprit(compared, place) : null;
  if (ended !== null) return ended;
  const cause = firstCause(before, now);
  if (cause !== null && cause.layer !== null) return layerCulprit(cause, place);
  if (cause !== null) return policyCulprit(compared, place) ?? earlier ?? unknownCulprit(place);
  return endCulprit(compared, place) ?? policyCulprit(compared, place) ?? earlier ?? unknownCulprit(place);
}

type CulpritPlace = Pick<Culprit, "runId" | "frame" | "block" | "isConfirmed">;

function layerCulprit({ layer, how, direction, frame }: Cause, place: CulpritPlace): Culprit {
  const words = how === "edited" ? `edited the ${direction} otherwise` : how;
  return { kind: "layer", name: layer?.name ?? "", version: layer?.version ?? null, how: words, ...place, frame };
}

const unknownCulprit = (place: CulpritPlace): Culprit => ({
  ...{ kind: "unknown", name: "cause", version: null, how: "no layer, setting or policy was found that explains it" },
  ...place,
});

/** A run that fails now, or no longer fails. */
function endCulprit({ before, now }: Compared, place: CulpritPlace): Culprit | null {
  const failed = now.end?.kind === before.end?.kind ? null : now.end?.kind != null ? now.end : before.end;
  if (failed?.kind == null) return null;
  const words = failed === now.end ? `ended the run (${failed.kind})` : `no longer ends the run (${failed.kind})`;
  const policy = policyOfFailure.get(failed.kind);
  const isChanged = policy !== undefined && changedSettings(before.policies, now.policies).includes(policy);
  if (isChanged) return { kind: "policy", name: policy, version: null, how: words, ...place };
  if (failed.thrownBy === null) return null;
  const { layer: name, frame } = failed.thrownBy;
  const trace = failed === now.end ? now : before;
  const version = trace.layers.find((layer) => layer.name === name)?.version ?? null;
  return { kind: "layer", name, version, how: words, ...place, frame };
}

const policyOfFailure: ReadonlyMap<string, string> = new Map([
  ["budget-exceeded", "budget"],
  ["chain-required", "require"],
]);

/** Policies in the order in which one of several is named. */
function policyCulprit({ before, now }: Compared, place: CulpritPlace): Culprit | null {
  const order = ["mode", "reasoning", "compact", "budget"];
  const changed = changedSettings(before.policies, now.policies);
  const name = order.find((each) => changed.includes(each)) ?? changed[0];
  if (name === undefined) return null;
  const how = `${shortText(before.policies[name])} is now ${shortText(now.policies[name])}`;
  return { kind: "policy", name, version: null, how, ...place };
}

const codecCulprit = (before: TracedRequest, now: TracedRequest, place: CulpritPlace): Culprit => ({
  ...{ kind: "codec", name: now.encoder, version: null, ...place },
  how: before.encoder === now.encoder ? "encodes the same request otherwise" : `takes the place of ${before.encoder}`,
});

function settingsCulprit(
  compared: Compared,
  then: TracedRequest,
  request: TracedRequest,
  place: CulpritPlace,
): Culprit {
  const { before, now, codec } = compared;
  const [old, today] = [before.settings.get(then.settingsDigest) ?? {}, now.settings.get(request.settingsDigest) ?? {}];
  const changed = changedSettings(old, today);
  // Whether the server keeps responses follows from the mode.
  const byMode = [old, today].flatMap((settings) => changedSettings(settings, codec.unstored?.(settings) ?? settings));
  const policy = changed.every((name) => byMode.includes(name)) ? policyCulprit(compared, place) : null;
  if (policy !== null) return policy;
  const tool = changedTool(old, today);
  const name = changed.find((each) => each !== "tools" && !byMode.includes(each)) ?? changed[0] ?? "order";
  const how = "is another";
  if (tool !== null && (changed[0] === "tools" || isToolsOnly(changed)))
    return { kind: "tool", name: tool, version: null, how, ...place };
  const layer = instructingLayer(compared, { old, today, then, request });
  if (layer !== null) return { kind: "layer", ...layer, how: gaveInstructions, ...place };
  return { kind: "settings", name, version: null, how, ...place };
}

/** What a layer did that added or left out instructions. */
export const gaveInstructions = "gave other instructions";

const isToolsOnly = (changed: readonly string[]): boolean => changed.every((name) => toolMembers.has(name));

/** The members of request bodies that list tools. */
const toolMembers: ReadonlySet<string> = new Set(["tools", "functions", "toolConfig", "tool_choice"]);

/** The first tool that is new, gone, or described otherwise. */
function changedTool(old: JsonObject, today: JsonObject): string | null {
  const [then, now] = [toolsIn(old["tools"] ?? null), toolsIn(today["tools"] ?? null)];
  for (const name of new Set([...now.keys(), ...then.keys()])) if (then.get(name) !== now.get(name)) return name;
  return null;
}

/** The tools of a list by name, in whichever form a dialect writes them. */
function toolsIn(json: JsonValue): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const look = (value: JsonValue, depth: number): void => {
    if (isJsonList(value)) for (const each of value) look(each, depth);
    if (!isJsonObject(value)) return;
    const { name } = value;
    if (typeof name === "string") found.set(name, canonicalJson(value));
    else if (depth < 2) for (const each of Object.values(value)) look(each ?? null, depth + 1);
  };
  look(json, 0);
  return found;
}

type Declared = {
  readonly old: JsonObject;
  readonly today: JsonObject;
  readonly then: TracedRequest;
  readonly request: TracedRequest;
};

/** The layer that adds a text that was not there, or else the one that added the earlier instructions and adds none any more. */
function instructingLayer(
  { before, now }: Compared,
  { old, today, then, request }: Declared,
): Pick<Culprit, "name" | "version"> | null {
  const said = JSON.stringify(old);
  const added = request.instructions.find(({ text }) => !said.includes(JSON.stringify(text).slice(1, -1)));
  if (added !== undefined) return { name: added.layer, version: added.version };
  const saidNow = JSON.stringify(today);
  const gone = then.instructions.find(({ text }) => !saidNow.includes(JSON.stringify(text).slice(1, -1)));
  if (gone !== undefined) return { name: gone.layer, version: gone.version };
  const name = before.declarers.get(then.settingsDigest);
  if (name === undefined || request.instructions.some(({ layer }) => layer === name)) return null;
  const version = [...now.layers, ...before.layers].find((layer) => layer.name === name)?.version ?? null;
  return { name, version };
}

function shortText(value: JsonValue | undefined): string {
  const text = value === undefined ? "none" : typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
