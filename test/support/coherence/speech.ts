import {
  functionCall,
  hosted,
  message,
  reasoning,
  type ScriptedAnswer,
  type ScriptedItem,
} from "../../../packages/reference-server/src/server.ts";
import { sortedText } from "../../../packages/reference-server/src/wire.ts";
import type { Block } from "../../../src/domain/block.ts";
import { blockOf, type Part, type Role } from "../../../src/testing/rehearsal/entries.ts";
import { interruptions } from "./interrupted.ts";
import { createRandom, type Random } from "./random.ts";
import type { Said } from "./truth.ts";

/** The texts for the model about an unknown tool, and about a call that a run left open when it failed. */
const engineSays = [
  "Error: there is no tool named no-such-tool",
  "aborted",
  "in doubt: the run ended while this tool ran; it may have taken effect",
];

const nonceOf = (content: string): string | null => /n\d+x/.exec(content)?.[0] ?? null;

const isRefusal = ({ type }: Part): boolean => type === "refusal";

/** What the reference server takes the digest of where a message shows it. */
function contentOf(part: Part): string {
  if ("source" in part) return part.source;
  return part.type === "audio" ? sortedText({ data: part.data, format: part.format }) : part.text;
}

const withoutRefusals = (parts: readonly Part[]): readonly Part[] => parts.filter((part) => !isRefusal(part));

type SaidItem = { readonly item: ScriptedItem; readonly said: Omit<Said, "group"> };

/** Everything that is said in a world, by user, layers, tools and model: drawn at random, and kept by nonce. */
export class Speech {
  /** Hosted items may be left out from now on: something took the ids from them or from their response. */
  hostedMayBeMissing = false;
  /** Whether the settings of some answer were skipped: reasoning of a model that nothing names is left out on every wire. */
  reasoningMayBeMissing = false;
  /** Whether an operator skipped the settings of some request: once an erasure has renewed the key of names, nothing tells whether others equal them. */
  hasSkippedSettings = false;
  /** Whether an operator skipped events: the newest exchange of a thread or a connection may be among them. */
  hasSkips = false;
  /** Which of the world's servers the model answers at. */
  server = "";
  readonly #random: Random;
  /** Draws what a message shows beside its text, so that the other draws of a seed stay what they are. */
  readonly #showing: Random;
  readonly #seed: number;
  readonly #hasHosted: boolean;
  readonly #said = new Map<string, Said>();
  readonly #notes = new Set<string>();
  /** What erased blocks said, by the name under which they are recorded. */
  readonly #erased = new Map<string, Said>();
  /** Whether the content of settings may be erased. */
  hasLostSettings = false;
  /** Nonces that nobody may say any more. */
  readonly #gone = new Set<string>();
  /** The images, files and sounds that went with them. */
  readonly #goneParts = new Set<string>();
  #nonces = 0;
  #responses = 0;
  #callIds: string[] = [];

  constructor(seed: number, random: Random, { hasHosted }: { readonly hasHosted: boolean }) {
    this.#seed = seed;
    this.#hasHosted = hasHosted;
    this.#random = random;
    this.#showing = createRandom(seed + 0x5a04);
  }

  /** The answer to a request: drawn, and kept as what was said. */
  answer(): ScriptedAnswer {
    const random = this.#random;
    const response = this.#responses;
    this.#responses += 1;
    const items: SaidItem[] = [];
    const hasReasoning = random.chance(0.5);
    const calls = random.chance(0.45) ? (random.chance(0.75) ? 2 + random.below(3) : 1) : 0;
    if (hasReasoning) {
      const text = this.#newNonce("thought");
      items.push({ item: reasoning({ summary: text }), said: { kind: "reasoning", text, shows: [] } });
    }
    if (random.chance(0.15) && this.#hasHosted) items.push(this.#hostedItem());
    if (calls === 0 || random.chance(0.3)) {
      const text = this.#newNonce("answer");
      const phase = random.pick([undefined, undefined, "commentary", "final_answer"] as const);
      items.push({
        item: message(text, phase === undefined ? {} : { phase }),
        said: { kind: "assistant", text, phase, shows: [] },
      });
    }
    for (let call = 0; call < calls; call += 1) items.push(this.#callItem(items.map(({ said }) => said.callId ?? "")));
    const status = random.chance(0.04) ? "incomplete" : "completed";
    // What was cut off is never whole, whatever of it is there.
    const size = status === "completed" ? items.length : items.length + 1;
    for (const [index, { said }] of items.entries()) {
      const nonce = nonceOf(said.text);
      const by = { server: this.server, isCutOff: status !== "completed" };
      if (nonce !== null) this.#said.set(nonce, { ...said, ...by, group: { response, index, size } });
    }
    return { output: items.map(({ item }) => item), status };
  }

  #hostedItem(): SaidItem {
    const text = this.#newNonce("search");
    const id = `ws_${this.#seed}_${nonceOf(text) ?? ""}`;
    const item = { type: "web_search_call", id, status: "completed", action: { type: "search", query: text } };
    return { item: hosted(item), said: { kind: "hosted", text, shows: [], hosted: { type: "web_search_call", id } } };
  }

  #callItem(earlierIds: readonly string[]): SaidItem {
    const random = this.#random;
    const text = JSON.stringify({ of: this.#newNonce("call") });
    // An id may come again in a conversation, never twice in one answer.
    const free = this.#callIds.filter((id) => !earlierIds.includes(id));
    const isRepeated = free.length > 0 && random.chance(0.08);
    const callId = isRepeated ? random.pick(free) : `call_${this.#seed}_${nonceOf(text) ?? ""}`;
    // A call that has to be renamed is not the item that the server knows, and its group goes without ids.
    this.hostedMayBeMissing ||= isRepeated;
    this.#callIds.push(callId);
    const name = random.chance(0.9) ? "look-up" : "no-such-tool";
    return { item: functionCall(name, text, { callId }), said: { kind: "call", text, name, callId, shows: [] } };
  }

  #newNonce(word: string): string {
    this.#nonces += 1;
    return `${word} n${this.#nonces}x`;
  }

  /** What the model is to be told of a run that breaks off. */
  newNote(): string {
    const text = this.newText("interruption", "user");
    this.#notes.add(text);
    return text;
  }

  isNote(text: string): boolean {
    return interruptions.includes(text) || this.#notes.has(text);
  }

  newText(word: string, kind: Said["kind"]): string {
    const text = this.#newNonce(word);
    this.#said.set(nonceOf(text) ?? "", { kind, text, shows: [], group: null });
    return text;
  }

  newMessage(role: Role): Block {
    const random = this.#random;
    const said = this.#newNonce(role);
    const nonce = nonceOf(said) ?? "";
    const images: Part[] =
      role === "user" && random.chance(0.15)
        ? [{ type: "image", source: `data:image/png;base64,${btoa(String(random.below(1e9)))}` }]
        : [];
    const shown = [...images, ...this.#shown(role, nonce)];
    // What is said stands first, and gives its place to what an edit says instead.
    const shows = [...shown.filter(isRefusal), ...withoutRefusals(shown)];
    // Now and then somebody shows what is named, and says nothing with it.
    const isNamed = shows.some((part) => JSON.stringify(part).includes(nonce));
    const text = isNamed && this.#showing.chance(0.3) ? "" : said;
    this.#said.set(nonce, { kind: role, text, shows, group: null });
    const parts: readonly Part[] = text === "" ? shows : [{ type: "text", text }, ...shows];
    return blockOf({ kind: "message", role, parts });
  }

  /** Some wires have no form for some of these, and a file's id says something to one server alone. */
  #shown(role: Role, nonce: string): readonly Part[] {
    const random = this.#showing;
    if (!random.chance(role === "user" ? 0.2 : 0.05)) return [];
    const image: Part = { type: "image", source: `https://pictures.example/${nonce}.png` };
    const refusal: Part = { type: "refusal", text: `I do not want ${nonce}` };
    if (role !== "user") return [random.pick(role === "assistant" ? [image, refusal] : [image])];
    const data = `data:application/pdf;base64,${btoa(String(random.below(1e9)))}`;
    const kinds: readonly Part[] = [
      ...[image, refusal],
      { type: "audio", data: btoa(String(random.below(1e9))), format: "wav" },
      { type: "file", source: data, filename: `${nonce}.pdf` },
      ...Array.from({ length: 4 }, () => ({ type: "file" as const, source: `file-${nonce}` })),
    ];
    return random.chance(0.3) ? [random.pick(kinds), random.pick(kinds)] : [random.pick(kinds)];
  }

  /** The same block with another text; what is said changes with it, and images stay. */
  edited(block: Block): Block {
    const before = this.saidOf(block);
    if (before === null || before.kind === "hosted" || before.kind === "reasoning") return block;
    const text = before.kind === "call" ? JSON.stringify({ of: this.#newNonce("edited") }) : this.#newNonce("edited");
    // Of what was cut off in the middle it is known whose it was, whatever is made of it.
    const server = before.isCutOff === true ? before.server : undefined;
    const shows = withoutRefusals(before.shows);
    this.#said.set(nonceOf(text) ?? "", { ...before, text, shows, group: null, server });
    return block.withText(text);
  }

  /** The nonce of a block that may be erased: the texts of the engine and the notes have none. */
  nonceOf(block: Block): string | null {
    const said = this.saidOf(block);
    if (said === null || this.isNote(block.text) || engineSays.includes(block.text)) return null;
    return nonceOf(block.text) ?? nonceOf(JSON.stringify(block.payload));
  }

  /** Whether a text says what was erased. Ids of calls, which have nonces as well, are never erased. */
  saysGone(text: string): boolean {
    const nonces = text.match(/(?<!_)n\d+x/g) ?? [];
    return nonces.some((nonce) => this.#gone.has(nonce)) || [...this.#goneParts].some((part) => text.includes(part));
  }

  /**
   * The content of a block is erased.
   *
   * @param left - The blocks that are not: an edited version of one of them may have shown the same image.
   */
  erase(block: Block, left: readonly Block[]): void {
    const [said, nonce] = [this.saidOf(block), this.nonceOf(block)];
    if (said === null) return;
    this.#erased.set(block.recordedAs, said);
    if (nonce !== null) this.#gone.add(nonce);
    for (const part of said.shows) {
      const shown = "source" in part ? part.source : "data" in part ? part.data : null;
      const gone = shown?.slice(shown.indexOf(",") + 1) ?? null;
      const isLeft = gone !== null && left.some(({ payload }) => JSON.stringify(payload).includes(gone));
      if (gone !== null && !isLeft) this.#goneParts.add(gone);
    }
    // Settings that say it in their instructions go as a whole, and with them every request that they shaped.
    this.hasLostSettings ||= said.kind === "system" || said.kind === "developer";
  }

  /**
   * Where a server still holds what was erased, its model reads it; else the stand-in. Of reasoning there is none: of two copies, the one
   * in its answer is read.
   *
   * @param isHeld - Whether the model has read a text once more than was asked for.
   */
  asHeldBy(
    block: Block,
    { isHeld, isRead }: Readonly<Record<"isHeld" | "isRead", (text: string) => boolean>>,
  ): Said | null {
    const held = block.isErased ? this.#erased.get(block.recordedAs) : undefined;
    if (held === undefined) return this.saidOf(block);
    // What only its server understands has no stand-in, and takes the reasoning of its answer with it.
    this.hostedMayBeMissing = true;
    this.reasoningMayBeMissing = true;
    // Of what a message shows, the wire may have taken a part.
    const contents = held.text === "" ? held.shows.map(contentOf) : [held.text];
    if (held.kind !== "hosted" && !contents.some(held.kind === "reasoning" ? isRead : isHeld)) {
      const standIn = this.saidOf(block);
      return standIn && { ...standIn, before: held, ...(held.kind === "reasoning" ? { isLeftOut: true } : {}) };
    }
    return { ...held, quotedAs: block.text, ...(held.callId === undefined ? {} : { callId: block.callId ?? "" }) };
  }

  saidOf(block: Block): Said | null {
    const erased = block.isErased ? this.#erased.get(block.recordedAs) : undefined;
    if (erased !== undefined) {
      const { group } = erased;
      // The answer is not whole any more.
      const broken = group === null || block.wire?.group === undefined ? null : { ...group, size: group.size + 1 };
      const callId = block.callId === null ? {} : { callId: block.callId };
      return { ...erased, text: block.text, shows: [], group: broken, ...callId };
    }
    if (block.kind === "tool_result" && engineSays.includes(block.text)) {
      return { kind: "result", text: block.text, shows: [], group: null, callId: block.callId ?? "" };
    }
    if (block.kind === "user" && interruptions.includes(block.text))
      return { kind: "user", text: block.text, shows: [], group: null };
    const nonce = nonceOf(block.text) ?? nonceOf(JSON.stringify(block.payload));
    const said = nonce === null ? undefined : this.#said.get(nonce);
    if (said === undefined) return null;
    return veiled(this.#named(said, block), block);
  }

  #named(said: Said, block: Block): Said {
    // By which id a call and its result know each other is the wire's: where it has none, its codec makes one.
    return said.kind === "result" || said.kind === "call" ? { ...said, callId: block.callId ?? "" } : said;
  }
}

/** What is said as a layer shows it: a word in front of the nonce is hidden. */
function veiled(said: Said, block: Block): Said {
  const [hidden] = /^\[word(-[0-9a-f]+)?\]/.exec(block.text) ?? [];
  return hidden === undefined ? said : { ...said, text: said.text.replace(/^\w+/, hidden) };
}
