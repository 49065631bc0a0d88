import { createHash } from "node:crypto";
import type { ScriptedItem } from "./answers.ts";
import { type CachingOptions, PromptCache } from "./cache/prompt-cache.ts";
import type { CacheVerdict } from "./cache/verdict.ts";
import { type Ciphertexts, createCiphertexts } from "./ciphertext.ts";
import type { Issued, Link } from "./contexts.ts";
import { LinkPlaces } from "./link-places.ts";
import type { ReasoningBinding } from "./reasoning-check.ts";
import type { ResponseHead } from "./response-body.ts";
import { type JsonObject, stringOf, typeOf } from "./wire.ts";

/** A response that the server made or adopted. */
export interface HeldResponse {
  readonly head: ResponseHead;
  /** Verbatim, with references resolved. */
  readonly input: readonly JsonObject[];
  readonly output: readonly JsonObject[];
  /** What the prompt cache did for it, if the model was asked. */
  readonly cache?: CacheVerdict;
  /** The context before it, and after it. */
  readonly before: Link | undefined;
  readonly context: Link;
  /** Whether its ids can be used. */
  isStored: boolean;
  readonly isBackground: boolean;
  /** In milliseconds: when a background response that should not be stored expires. */
  readonly goneAt: number;
}

/** A conversation object: a list of items, to which responses are added. It has no settings. */
export interface ConversationObject {
  readonly id: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  metadata: JsonObject;
  /** As in a listing, with their own ids. */
  items: readonly JsonObject[];
  /** How many items were ever added: ids are made from it, so that no item gets the id of a deleted one. */
  added: number;
  /** Some of its items were deleted. */
  isCut: boolean;
  /** The same items, as the context from which requests continue. */
  context: Link | undefined;
}

/** Everything that a server remembers. */
export interface Memory {
  readonly responses: Map<string, HeldResponse>;
  readonly conversations: Map<string, ConversationObject>;
  readonly issued: Map<string, Issued>;
  readonly ciphertexts: Ciphertexts;
  /** By item id, if the server checks reasoning. */
  readonly bindings: Map<string, ReasoningBinding>;
  readonly prompts: PromptCache;
  readonly linkPlaces: LinkPlaces;
  /** The items that compaction items replace, by their ids, if the server itself makes them. */
  readonly compacted: Map<string, readonly JsonObject[]>;
  /** The same seed gives the same ids in the same order. */
  nextId(prefix: string): string;
  /** Adds to scripted items what a server adds: ids, call ids. */
  finish(output: readonly ScriptedItem[]): readonly { readonly item: JsonObject; readonly isEncrypted: boolean }[];
  /** Records the items of an output for later requests. */
  issue(output: readonly { readonly item: JsonObject; readonly isEncrypted: boolean }[], isStored: boolean): void;
  /** Makes a response unusable, and the items that it issued. */
  forget(responseId: string): void;
  /** Items in the form in which they are sent, with a new ciphertext each time if ciphertexts were requested. */
  deliver(output: readonly JsonObject[], withCiphertexts: boolean): readonly JsonObject[];
}

const prefixes: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
  web_search_call: "ws",
  file_search_call: "fs",
  code_interpreter_call: "ci",
  image_generation_call: "ig",
  mcp_call: "mcp",
  mcp_list_tools: "mcpl",
  mcp_approval_request: "mcpr",
  computer_call: "cu",
  shell_call: "sh",
  local_shell_call: "lsh",
  apply_patch_call: "apc",
  tool_search_call: "tsc",
  tool_search_output: "tso",
  compaction: "cmp",
  program: "prg",
};

const withCallId = new Set(
  "function_call custom_tool_call computer_call shell_call local_shell_call apply_patch_call program".split(" "),
);

export function createMemory(seed: string, caching: CachingOptions = {}): Memory {
  const ciphertexts = createCiphertexts(seed);
  const issued = new Map<string, Issued>();
  const responses = new Map<string, HeldResponse>();
  let ids = 0;
  const nextId = (prefix: string): string => {
    ids += 1;
    return `${prefix}_${createHash("sha256").update(`${seed}:${ids}`).digest("hex").slice(0, 32)}`;
  };
  return {
    responses,
    conversations: new Map(),
    issued,
    ciphertexts,
    bindings: new Map(),
    prompts: new PromptCache("responses", caching),
    linkPlaces: new LinkPlaces(),
    compacted: new Map(),
    nextId,
    finish: (output) => output.map((scripted) => ({ ...scripted, item: withIds(scripted.item, nextId) })),
    issue(output, isStored) {
      for (const [index, { item, isEncrypted }] of output.entries()) {
        const id = stringOf(item["id"]);
        if (id === undefined) continue;
        const before = output[index - 1]?.item;
        const reasoningBefore = before?.["type"] === "reasoning" ? stringOf(before["id"]) : undefined;
        const next = stringOf(output[index + 1]?.item["id"]);
        issued.set(id, { item, isEncrypted, isStored, reasoningBefore, next });
      }
    },
    forget(responseId) {
      const held = responses.get(responseId);
      if (held === undefined) return;
      held.isStored = false;
      for (const item of held.output) {
        const known = issued.get(stringOf(item["id"]) ?? "");
        if (known !== undefined) known.isStored = false;
      }
    },
    deliver: (output, withCiphertexts) =>
      output.map((item) => {
        const isEncrypted = issued.get(stringOf(item["id"]) ?? "")?.isEncrypted === true;
        const isSent = isEncrypted && (withCiphertexts || typeOf(item) === "compaction");
        return isSent ? { ...item, encrypted_content: ciphertexts.seal(item) } : item;
      }),
  };
}

function withIds(item: JsonObject, nextId: (prefix: string) => string): JsonObject {
  const type = typeOf(item);
  const id = item["id"] ?? nextId(prefixes[type] ?? "item");
  const needsCallId = withCallId.has(type) || (type === "tool_search_call" && item["execution"] === "client");
  const callId = needsCallId && item["call_id"] === undefined ? { call_id: nextId("call") } : {};
  return { id, ...item, ...callId };
}
