import { canonicalJson } from "../base/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../base/json.ts";
import { sha256Hex } from "../base/sha256.ts";
import { utf8Length } from "../base/utf8.ts";

/** Strings over this many UTF-8 bytes are hashed, as they are stored (rule: Equal blocks). */
export const blobBytesMin = 64 * 1024;

/** Cache hints for a provider: they change the cost of a request, not what the model reads. */
const cacheHints: ReadonlySet<string> = new Set(["cache_control", "prompt_cache_breakpoint"]);

type Essential = {
  readonly kind: string;
  readonly payload: JsonObject;
  readonly wire: { readonly scope: string; readonly itemId?: string; readonly ciphertext?: string } | null;
};

/**
 * The canonical text that decides whether blocks are equal (rule: Equal blocks, essence version 1; the context seed contains the
 * version). Reasoning, compaction and hosted-tool items that a server issued are equal by their id, because servers encrypt the same
 * item differently each time and return more or less of it, depending on `include`.
 */
export function essenceText(block: Essential): string {
  const { kind, payload, wire } = block;
  if (wire?.itemId !== undefined && isEqualById(kind)) {
    return canonicalJson({ kind, scope: wire.scope, itemId: wire.itemId });
  }
  const content = essentialMembers(payload, true);
  const ciphertext = isEqualById(kind) ? wire?.ciphertext : undefined;
  return canonicalJson(
    ciphertext === undefined ? { kind, content } : { kind, content, ciphertext: sha256Hex(ciphertext) },
  );
}

/**
 * Whether the wire counts for equality: of reasoning, and of everything that is kept verbatim (compaction and hosted-tool items).
 */
export const isEqualById = (kind: string): boolean => kind === "reasoning" || kind === "other";

/** A hint is a member of an item or a part, beside its `type`; elsewhere (a tool's schema) its name has no special meaning. */
function essentialMembers(object: JsonObject, mayHoldHints: boolean): JsonObject {
  const essential: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || (mayHoldHints && cacheHints.has(name))) continue;
    setMember(essential, isReservedName(object, name) ? `$${name}` : name, essenceOf(value));
  }
  return essential;
}

function essenceOf(value: JsonValue): JsonValue {
  if (typeof value === "string") return asStored(value);
  if (isJsonObject(value)) return essentialMembers(value, typeof value["type"] === "string");
  return Array.isArray(value) ? value.map(essenceOf) : value;
}

/**
 * A plain object that only looks like a blob counts in its stored form, with one more `$`. The actual references to blobs and
 * secrets in stored data have classes of their own.
 */
function isReservedName(object: JsonObject, name: string): boolean {
  return name.startsWith("$") && /^\$+(blob|secret)$/.test(name) && Object.getPrototypeOf(object) === Object.prototype;
}

function asStored(text: string): JsonValue {
  // A UTF-16 unit takes at most three bytes in UTF-8, so short strings need no count.
  if (text.length * 3 <= blobBytesMin) return text;
  const bytes = utf8Length(text);
  if (bytes <= blobBytesMin) return text;
  // A lone surrogate has no UTF-8 form: hashed directly, it would equal U+FFFD.
  return { $blob: { sha256: sha256Hex(text.isWellFormed() ? text : JSON.stringify(text)), bytes } };
}
