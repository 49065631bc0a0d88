import type { Block } from "../../../src/domain/block.ts";
import { assistant, image, system, text as textPart, user } from "../../../src/domain/make-block.ts";
import {
  functionCall,
  hosted,
  message,
  reasoning,
  type ScriptedAnswer,
  type ScriptedItem,
} from "../../../src/reference-server/server.ts";
import type { Random } from "./random.ts";
import type { Said } from "./truth.ts";

/** What the model is told of a tool that is not there, and of a call that a run left open when it failed. */
const engineSays = [
  "Error: there is no tool named no-such-tool",
  "aborted",
  "in doubt: the run ended while this tool ran; it may have taken effect",
];

const nonceOf = (content: string): string | null => /n\d+x/.exec(content)?.[0] ?? null;

type SaidItem = { readonly item: ScriptedItem; readonly said: Omit<Said, "group"> };

/** Everything that is said in a world, by user, layers, tools and model: drawn at random, and kept by nonce. */
export class Speech {
  /** Hosted items may be left out from now on: something took the ids from them or from their response. */
  hostedMayBeMissing = false;
  readonly #random: Random;
  readonly #seed: number;
  readonly #hasHosted: boolean;
  readonly #said = new Map<string, Said>();
  #nonces = 0;
  #responses = 0;
  #callIds: string[] = [];

  constructor(seed: number, random: Random, { hasHosted }: { readonly hasHosted: boolean }) {
    this.#seed = seed;
    this.#hasHosted = hasHosted;
    this.#random = random;
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
      items.push({ item: reasoning({ summary: text }), said: { kind: "reasoning", text, images: [] } });
    }
    if (random.chance(0.15) && this.#hasHosted) items.push(this.#hostedItem());
    if (calls === 0 || random.chance(0.3)) {
      const text = this.#newNonce("answer");
      const phase = random.pick([undefined, undefined, "commentary", "final_answer"] as const);
      items.push({
        item: message(text, phase === undefined ? {} : { phase }),
        said: { kind: "assistant", text, phase, images: [] },
      });
    }
    for (let call = 0; call < calls; call += 1) items.push(this.#callItem(items.map(({ said }) => said.callId ?? "")));
    const status = random.chance(0.04) ? "incomplete" : "completed";
    // What was cut off is never whole, whatever of it is there.
    const size = status === "completed" ? items.length : items.length + 1;
    for (const [index, { said }] of items.entries()) {
      const nonce = nonceOf(said.text);
      if (nonce !== null) this.#said.set(nonce, { ...said, group: { response, index, size } });
    }
    return { output: items.map(({ item }) => item), status };
  }

  #hostedItem(): SaidItem {
    const text = this.#newNonce("search");
    const id = `ws_${this.#seed}_${nonceOf(text) ?? ""}`;
    const item = { type: "web_search_call", id, status: "completed", action: { type: "search", query: text } };
    return { item: hosted(item), said: { kind: "hosted", text, images: [], hosted: { type: "web_search_call", id } } };
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
    return { item: functionCall(name, text, { callId }), said: { kind: "call", text, name, callId, images: [] } };
  }

  #newNonce(word: string): string {
    this.#nonces += 1;
    return `${word} n${this.#nonces}x`;
  }

  newText(word: string, kind: Said["kind"]): string {
    const text = this.#newNonce(word);
    this.#said.set(nonceOf(text) ?? "", { kind, text, images: [], group: null });
    return text;
  }

  newMessage(role: "user" | "system" | "developer" | "assistant"): Block {
    const random = this.#random;
    const text = this.#newNonce(role);
    const images =
      role === "user" && random.chance(0.15) ? [`data:image/png;base64,${btoa(String(random.below(1e9)))}`] : [];
    this.#said.set(nonceOf(text) ?? "", { kind: role, text, images, group: null });
    if (role === "user") return user([textPart(text), ...images.map((url) => image(url))]);
    return role === "assistant" ? assistant(text) : system(text, role);
  }

  /** The same block with another text; what is said changes with it. */
  edited(block: Block): Block {
    const before = this.saidOf(block);
    if (before === null || before.kind === "hosted" || before.kind === "reasoning") return block;
    const text = before.kind === "call" ? JSON.stringify({ of: this.#newNonce("edited") }) : this.#newNonce("edited");
    this.#said.set(nonceOf(text) ?? "", { ...before, text, images: [], group: null });
    return block.withText(text);
  }

  saidOf(block: Block): Said | null {
    if (block.kind === "tool_result" && engineSays.includes(block.text)) {
      return { kind: "result", text: block.text, images: [], group: null, callId: block.callId ?? "" };
    }
    const nonce = nonceOf(block.kind === "other" ? JSON.stringify(block.payload) : block.text);
    const said = nonce === null ? undefined : this.#said.get(nonce);
    if (said === undefined) return null;
    // By which id a call and its result know each other is the wire's: where it has none, its codec makes one.
    return said.kind === "result" || said.kind === "call" ? { ...said, callId: block.callId ?? "" } : said;
  }
}
