import { unmarkedText } from "./breakpoints.ts";
import type { Ciphertexts } from "./ciphertext.ts";
import { sinceCompaction } from "./compacting.ts";
import { answeredBy, type Call, callOf, resultOf } from "./pairs.ts";
import {
  badCiphertext,
  duplicateItem,
  itemNotFound,
  missingFollower,
  missingOutput,
  missingParameter,
  missingReasoning,
  orphanOutput,
  type Refusal,
} from "./refusals.ts";
import { type JsonObject, stringOf, typeOf } from "./wire.ts";

/**
 * A section of a context: some items after everything that its parent holds. Contexts share their beginnings, so that a
 * chain of a thousand steps needs only as much space as its items.
 */
export interface Link {
  readonly parent: Link | undefined;
  /** Verbatim, with references resolved. */
  readonly items: readonly JsonObject[];
  /** Item ids of this section only. */
  readonly ids: ReadonlySet<string>;
  /** Unanswered calls of the whole context. */
  readonly open: readonly Call[];
  /** The size of what the model reads: from the newest compaction item on. */
  readonly tokens: number;
}

/** What the server remembers of an item that it issued. */
export interface Issued {
  readonly item: JsonObject;
  readonly isEncrypted: boolean;
  /** Whether the item can be referenced: its response was stored and still exists. */
  isStored: boolean;
  /** The reasoning directly before it in its response; the item must not be resent without it. */
  readonly reasoningBefore: string | undefined;
  /** What followed it in its response. */
  readonly next: string | undefined;
}

/** The rules for an input, besides its context. */
export interface AdmissionRules {
  readonly issued: ReadonlyMap<string, Issued>;
  /** Undefined: ciphertexts are not checked. */
  readonly ciphertexts: Ciphertexts | undefined;
  /** Names of this request's tools that are declared async. */
  readonly asyncTools: ReadonlySet<string>;
}

/** All items from the beginning, in order. */
export function itemsOf(link: Link | undefined): readonly JsonObject[] {
  const pieces: (readonly JsonObject[])[] = [];
  for (let piece = link; piece !== undefined; piece = piece.parent) pieces.push(piece.items);
  return pieces.reverse().flat();
}

/** Adds items to a context without checks: for outputs, and for inputs that a real server is known to have accepted. */
export function extend(parent: Link | undefined, items: readonly JsonObject[], asyncTools?: ReadonlySet<string>): Link {
  const open = [...(parent?.open ?? [])];
  for (const item of items) {
    const result = resultOf(item);
    const at = result === undefined ? -1 : answeredBy(result, open);
    if (at >= 0) open.splice(at, 1);
    const call = callOf(item);
    if (call !== undefined) open.push(optionalWhereAsync(call, { item, asyncTools }));
  }
  const ids = items.flatMap((item) => itemIdOf(item) ?? []);
  const read = sinceCompaction(items);
  const isFresh = read.length < items.length || typeOf(items[0] ?? {}) === "compaction";
  const tokens = (isFresh ? 0 : (parent?.tokens ?? 0)) + tokensOf(read);
  return { parent, items, ids: new Set(ids), open, tokens };
}

/** The context of a request, or why a server rejects the input after that parent. */
export function admit(
  parent: Link | undefined,
  input: readonly JsonObject[],
  rules: AdmissionRules,
): { readonly link: Link } | { readonly refusal: Refusal } {
  const items: JsonObject[] = [];
  for (const item of input) {
    const resolved = resolve(item, rules);
    if ("status" in resolved) return { refusal: resolved };
    items.push(resolved.item);
  }
  const wrong = checkIds(parent, items) ?? checkReasoning(parent, items, rules) ?? checkPairs(parent, items, rules);
  return wrong === undefined ? { link: extend(parent, items, rules.asyncTools) } : { refusal: wrong };
}

/** A size that depends only on the items: four characters are a token. */
export function tokensOf(items: readonly JsonObject[]): number {
  return items.reduce((sum, item) => sum + Math.ceil(unmarkedText(item).length / 4), 0);
}

/** The item's own id; a local shell output has its call's id in that member. */
function itemIdOf(item: JsonObject): string | undefined {
  return typeOf(item) === "local_shell_call_output" ? undefined : stringOf(item["id"]);
}

// Only an item with nothing but an id is looked up: a complete item, or a ciphertext, needs no look-up.
function resolve(item: JsonObject, rules: AdmissionRules): { readonly item: JsonObject } | Refusal {
  const type = typeOf(item);
  const id = stringOf(item["id"]);
  const text = stringOf(item["encrypted_content"]);
  if (text !== undefined) {
    const isAuthentic = rules.ciphertexts?.isAuthentic(text, id) ?? true;
    return isAuthentic ? { item } : badCiphertext(id, text);
  }
  const isLookedUp = type === "item_reference" || (type === "reasoning" && id !== undefined);
  if (!isLookedUp) return { item };
  const issued = rules.issued.get(id ?? "");
  if (issued?.isStored !== true) return itemNotFound(id ?? "");
  return { item: type === "item_reference" ? issued.item : item };
}

function checkIds(parent: Link | undefined, items: readonly JsonObject[]): Refusal | undefined {
  const seen = new Set<string>();
  for (const item of items) {
    const id = itemIdOf(item);
    if (id === undefined) continue;
    if (seen.has(id) || holdsId(parent, id)) return duplicateItem(id);
    seen.add(id);
  }
  return undefined;
}

function holdsId(link: Link | undefined, id: string): boolean {
  for (let piece = link; piece !== undefined; piece = piece.parent) if (piece.ids.has(id)) return true;
  return false;
}

function checkReasoning(
  parent: Link | undefined,
  items: readonly JsonObject[],
  rules: AdmissionRules,
): Refusal | undefined {
  for (const [index, item] of items.entries()) {
    const id = stringOf(item["id"]) ?? "";
    const issued = rules.issued.get(id);
    const next = items[index + 1];
    if (typeOf(item) === "reasoning" && !isFollower(next, { issued, rules })) return missingFollower(id);
    const before = stringOf((items[index - 1] ?? lastOf(parent))?.["id"]);
    const needed = issued?.reasoningBefore;
    if (needed !== undefined && before !== needed) return missingReasoning(id, typeOf(item), needed);
  }
  return undefined;
}

function isFollower(
  next: JsonObject | undefined,
  of: { readonly issued: Issued | undefined; readonly rules: AdmissionRules },
): boolean {
  if (next === undefined || !isModelMade(next)) return false;
  const nextId = stringOf(next["id"]);
  const isForeign = nextId === undefined || !of.rules.issued.has(nextId);
  return isForeign || of.issued?.next === undefined || of.issued.next === nextId;
}

function isModelMade(item: JsonObject): boolean {
  const type = typeOf(item);
  if (type === "message") return item["role"] === "assistant";
  const isClients = resultOf(item) !== undefined;
  return !isClients && !["additional_tools", "configuration_update", "compaction_trigger"].includes(type);
}

function lastOf(link: Link | undefined): JsonObject | undefined {
  for (let piece = link; piece !== undefined; piece = piece.parent) {
    const last = piece.items.at(-1);
    if (last !== undefined) return last;
  }
  return undefined;
}

/**
 * Each result answers the nearest earlier open call with its id. At the end, only optional calls may be open.
 *
 * No source says how the service handles a repeated call id. This server rejects, with the text for duplicates, two open calls
 * with one id, and two in one input, because no server can tell their results apart.
 */
function checkPairs(
  parent: Link | undefined,
  items: readonly JsonObject[],
  rules: AdmissionRules,
): Refusal | undefined {
  const open = [...(parent?.open ?? [])];
  const inInput = new Set<string>();
  for (const [index, item] of items.entries()) {
    const result = resultOf(item);
    if (result !== undefined) {
      const at = answeredBy(result, open);
      if (at < 0 && result.callId === undefined) return missingParameter(`input[${index}].call_id`);
      if (at < 0) return orphanOutput(result.label, result.callId ?? "");
      open.splice(at, 1);
    }
    const call = callOf(item);
    if (call === undefined) continue;
    const isRepeated = inInput.has(call.callId) || open.some((other) => other.callId === call.callId);
    if (isRepeated) return duplicateItem(call.callId);
    inInput.add(call.callId);
    open.push(optionalWhereAsync(call, { item, asyncTools: rules.asyncTools }));
  }
  const unanswered = open.find((call) => !call.isOptional);
  return unanswered === undefined ? undefined : missingOutput(unanswered.label, unanswered.callId);
}

function optionalWhereAsync(
  call: Call,
  { item, asyncTools }: { readonly item: JsonObject; readonly asyncTools: ReadonlySet<string> | undefined },
): Call {
  const isAsync = asyncTools?.has(stringOf(item["name"]) ?? "") === true;
  return isAsync ? { ...call, isOptional: true } : call;
}
