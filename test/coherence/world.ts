import { z } from "zod";
import { isJsonObject } from "../../src/base/json.ts";
import type { Block } from "../../src/domain/block.ts";
import { assistant, image, system, text as textPart, toolResult, user } from "../../src/domain/make-block.ts";
import type { Turn } from "../../src/domain/turn.ts";
import type { Conversation } from "../../src/engine/conversation.ts";
import { createEngine } from "../../src/engine/create-engine.ts";
import { defineMiddleware, type Layer, type Next } from "../../src/engine/middleware.ts";
import { tool } from "../../src/engine/tool.ts";
import { TurnlogStore } from "../../src/engine/turnlog-store.ts";
import { openaiResponses } from "../../src/providers/openai-responses.ts";
import {
  type Expected,
  type Fault,
  functionCall,
  hosted,
  judge,
  message,
  type ReferenceServer,
  readItems,
  reasoning,
  type ScriptedAnswer,
  type ScriptedItem,
} from "../../src/reference-server/server.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { replayed } from "../support/replayed.ts";
import { createRandom, type Random } from "./random.ts";
import { recordedRequests } from "./recorded-requests.ts";
import { type Asked, expectedLines, instructed, type Said } from "./truth.ts";

/** What a world has shown. */
export type Tally = {
  requests: number;
  chained: number;
  rebased: number;
  full: number;
  parallel: number;
  responses: number;
  reasoned: number;
  failedRuns: number;
  forks: number;
  /** Requests whose system messages stood in the instructions. */
  instructed: number;
  /** Requests that an injected fault answered, and requests that were refused because the server had forgotten. */
  faulty: number;
  lost: number;
  readonly incoherent: string[];
};

export const emptyTally = (): Tally => ({
  requests: 0,
  chained: 0,
  rebased: 0,
  full: 0,
  parallel: 0,
  responses: 0,
  reasoned: 0,
  failedRuns: 0,
  forks: 0,
  instructed: 0,
  faulty: 0,
  lost: 0,
  incoherent: [],
});

/** What the model is told of a tool that is not there, and of a call that a run left open when it failed. */
const engineSays = [
  "Error: there is no tool named no-such-tool",
  "aborted",
  "in doubt: the run ended while this tool ran; it may have taken effect",
];

const nonceOf = (content: string): string | null => /n\d+x/.exec(content)?.[0] ?? null;

/**
 * One random conversation: a server that answers at random, a stack that edits at random, and a judge that looks at every
 * request. What was said is kept by nonce, outside turnlog.
 */
export class World {
  readonly #random: Random;
  readonly #server: ReferenceServer;
  readonly #said = new Map<string, Said>();
  readonly #tally: Tally;
  readonly #seed: number;
  #nonces = 0;
  #responses = 0;
  #outgoing: Turn | null = null;
  #judged = 0;
  #hostedMayBeMissing = false;
  #hasForgotten = false;
  #callIds: string[] = [];

  constructor(seed: number, server: ReferenceServer, tally: Tally) {
    this.#seed = seed;
    this.#random = createRandom(seed);
    this.#server = server;
    this.#tally = tally;
  }

  async play(): Promise<void> {
    const random = this.#random;
    await using store = new TurnlogStore(createMemoryStore());
    let conversation = store.conversation();
    const instructions = random.chance(0.5) ? "Be exact." : "";
    const lookUp = tool({
      name: "look-up",
      description: "Looks up.",
      inputSchema: z.object({ of: z.string() }),
      execute: () => this.#newText("result", "result"),
    });
    const hasTools = random.chance(0.8);
    const isStored = random.chance(0.95);
    // Ids of unstored and of forgotten items are not sent, and hosted items cannot go without.
    this.#hostedMayBeMissing = !isStored;
    const tools: Expected[] = hasTools
      ? [
          {
            kind: "tool",
            definition: {
              type: "function",
              name: "look-up",
              description: "Looks up.",
              parameters: { type: "object", properties: { of: { type: "string" } }, required: ["of"] },
              strict: false,
            },
          },
        ]
      : [];
    if (random.chance(0.5)) await conversation.append(this.#newMessage("system"));
    for (let run = 1 + random.below(4); run > 0; run -= 1) {
      await conversation.append(this.#newMessage("user"));
      if (random.chance(0.1))
        await conversation.append(this.#newMessage(random.pick(["user", "developer", "assistant"])));
      this.#injectFault();
      const layers = Array.from({ length: random.below(4) }, (_, index) => this.#randomLayer(index));
      const probe = defineMiddleware({ name: "probe", version: "1.0.0" }, (next) => async (turn) => {
        this.#outgoing = turn;
        try {
          return await next(turn);
        } finally {
          this.#judgeNew({ instructions, systemAs }, tools);
        }
      });
      const systemAs = random.chance(0.25) ? "instructions" : "input";
      const engine = createEngine({
        provider: openaiResponses({
          model: "model-1",
          ...(instructions === "" ? {} : { instructions }),
          baseURL: this.#server.baseUrl,
          apiKey: "key",
          transport: random.chance(0.1) ? "sse" : "json",
          ...(isStored ? {} : { store: false }),
          systemAs,
        }),
        tools: hasTools ? [lookUp] : [],
        middleware: [...layers, probe],
        iterationsMax: 6,
      });
      try {
        await conversation.run(engine);
      } catch (error) {
        this.#tally.failedRuns += 1;
        const isExpected = error instanceof Error && "code" in error && error.code === "run-failed";
        if (!isExpected) this.#blame(`run ended with ${String(error)}`);
      }
      if (random.chance(0.15)) conversation = await this.#forked(conversation);
      else if (random.chance(0.05)) await this.#revert(conversation);
    }
    await this.#compareBodies(store);
    await this.#replay(store);
    // Folded anew from the first event, the log gives what the writer held.
    const past = await conversation.at(-1);
    if (past.turn.digest !== (await conversation.turn()).digest) this.#blame("the log folds to another Turn");
  }

  /** Goes on from any revision: most often from the newest, else also from the middle of a run. */
  async #forked(conversation: Conversation): Promise<Conversation> {
    const random = this.#random;
    const { revision } = await conversation.at(-1);
    this.#tally.forks += 1;
    return conversation.fork(random.chance(0.4) ? revision : random.below(revision + 1));
  }

  async #revert(conversation: Conversation): Promise<void> {
    const { exchanges } = await conversation.turn();
    if (exchanges.length > 0) await conversation.revertToExchange(this.#random.below(exchanges.length));
  }

  /** Planned, shaped and encoded again from events alone, every conversation says what it said, its forks included. */
  async #replay(store: TurnlogStore): Promise<void> {
    for await (const id of store.conversations()) {
      const { difference } = await replayed(store, { id });
      if (difference !== null) this.#blame(`replay of ${id}@${difference.revision}: ${difference.message}`);
    }
  }

  /** Law 7: the bodies that the events give are the bodies that the server received. */
  async #compareBodies(store: TurnlogStore): Promise<void> {
    const recorded = await recordedRequests(store);
    for (const { strategy } of recorded) this.#tally[strategy] += 1;
    const received = this.#server.requests.filter(({ method }) => method === "POST").map(({ bodyText }) => bodyText);
    // One that was recorded and never answered may not have left; all others came, in their order.
    let came = 0;
    for (const { bodyText, isAnswered } of recorded) {
      if (bodyText === received[came]) came += 1;
      else if (isAnswered) break;
    }
    if (came < received.length) this.#blame(`the body of request ${came} is not what the events give`);
  }

  /** The answer to a request: drawn, and kept as what was said. */
  answer(): ScriptedAnswer {
    const random = this.#random;
    const response = this.#responses;
    this.#responses += 1;
    const items: { readonly item: ScriptedItem; readonly said: Omit<Said, "group"> }[] = [];
    const hasReasoning = random.chance(0.5);
    const calls = random.chance(0.45) ? (random.chance(0.75) ? 2 + random.below(3) : 1) : 0;
    if (hasReasoning) {
      const text = this.#newNonce("thought");
      items.push({ item: reasoning({ summary: text }), said: { kind: "reasoning", text, images: [] } });
    }
    if (random.chance(0.15)) items.push(this.#hostedItem());
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
    this.#tally.responses += 1;
    if (calls > 1) this.#tally.parallel += 1;
    if (hasReasoning) this.#tally.reasoned += 1;
    return { output: items.map(({ item }) => item), status };
  }

  /** Now and then a server that fails, forgets, or answers something else than was asked. */
  #injectFault(): void {
    const random = this.#random;
    const known = this.#server.responseIds();
    if (known.length > 0 && random.chance(0.15)) {
      this.#server.forget(random.pick(known));
      this.#hasForgotten = true;
    }
    if (random.chance(0.85)) return;
    const error = { error: { message: "try later", type: "server_error", code: null, param: null } };
    const fault = random.pick<Fault>([
      { kind: "answer", status: 500, body: error },
      { kind: "answer", status: 429, body: error },
      { kind: "lost-acknowledgement" },
      { kind: "cut", afterBytes: random.below(3000) },
      { kind: "ignore-previous" },
      { kind: "unstored" },
    ]);
    this.#hasForgotten ||= fault.kind === "unstored";
    this.#server.inject(fault);
  }

  #hostedItem(): { readonly item: ScriptedItem; readonly said: Omit<Said, "group"> } {
    const text = this.#newNonce("search");
    const id = `ws_${this.#seed}_${nonceOf(text) ?? ""}`;
    const item = { type: "web_search_call", id, status: "completed", action: { type: "search", query: text } };
    return { item: hosted(item), said: { kind: "hosted", text, images: [], hosted: { type: "web_search_call", id } } };
  }

  #callItem(earlierIds: readonly string[]): { readonly item: ScriptedItem; readonly said: Omit<Said, "group"> } {
    const random = this.#random;
    const text = JSON.stringify({ of: this.#newNonce("call") });
    // An id may come again in a conversation, never twice in one answer.
    const free = this.#callIds.filter((id) => !earlierIds.includes(id));
    const isRepeated = free.length > 0 && random.chance(0.08);
    const callId = isRepeated ? random.pick(free) : `call_${this.#seed}_${nonceOf(text) ?? ""}`;
    // A call that has to be renamed is not the item that the server knows, and its group goes without ids.
    this.#hostedMayBeMissing ||= isRepeated;
    this.#callIds.push(callId);
    const name = random.chance(0.9) ? "look-up" : "no-such-tool";
    return { item: functionCall(name, text, { callId }), said: { kind: "call", text, name, callId, images: [] } };
  }

  #newNonce(word: string): string {
    this.#nonces += 1;
    return `${word} n${this.#nonces}x`;
  }

  #newText(word: string, kind: Said["kind"]): string {
    const text = this.#newNonce(word);
    this.#said.set(nonceOf(text) ?? "", { kind, text, images: [], group: null });
    return text;
  }

  #newMessage(role: "user" | "system" | "developer" | "assistant"): Block {
    const random = this.#random;
    const text = this.#newNonce(role);
    const images = role === "user" && random.chance(0.15) ? [`data:image/png;base64,${random.below(1e9)}`] : [];
    this.#said.set(nonceOf(text) ?? "", { kind: role, text, images, group: null });
    if (role === "user") return user([textPart(text), ...images.map((url) => image(url))]);
    return role === "assistant" ? assistant(text) : system(text, role);
  }

  /** The same block with another text; what is said changes with it. */
  #edited(block: Block): Block {
    const before = this.#saidOf(block);
    if (before === null || before.kind === "hosted" || before.kind === "reasoning") return block;
    const text = before.kind === "call" ? JSON.stringify({ of: this.#newNonce("edited") }) : this.#newNonce("edited");
    this.#said.set(nonceOf(text) ?? "", { ...before, text, images: [], group: null });
    return block.withText(text);
  }

  #saidOf(block: Block): Said | null {
    if (block.kind === "tool_result" && engineSays.includes(block.text)) {
      return { kind: "result", text: block.text, images: [], group: null, callId: block.callId ?? "" };
    }
    const nonce = nonceOf(block.kind === "other" ? JSON.stringify(block.payload) : block.text);
    const said = nonce === null ? undefined : this.#said.get(nonce);
    if (said === undefined) return null;
    return said.kind === "result" ? { ...said, callId: block.callId ?? "" } : said;
  }

  #randomLayer(index: number): Layer {
    const random = this.#random;
    const habit = random.pick([
      "idle",
      "edit",
      "edit",
      "ephemeral",
      "hide",
      "repeat",
      "cache",
      "older",
      "catch",
    ] as const);
    return defineMiddleware({ name: `layer-${index}-${habit}`, version: "1.0.0" }, (next) => (turn) => {
      switch (habit) {
        case "idle":
          return next(turn);
        case "edit":
          return next(random.chance(0.5) ? this.#editedTurn(turn) : turn);
        case "ephemeral":
          return this.#ephemeral(turn, next);
        case "hide":
          return this.#hide(turn, next);
        case "repeat":
          return this.#repeat(turn, next);
        case "cache":
          return random.chance(0.3) ? Promise.resolve(turn.append(this.#newMessage("assistant"))) : next(turn);
        case "older":
          return this.#older(turn, next);
        default:
          return next(turn).catch(() => turn.append(this.#newMessage("assistant")));
      }
    });
  }

  #editedTurn(turn: Turn): Turn {
    const random = this.#random;
    const index = random.below(turn.length);
    const block = turn.at(index);
    if (block === undefined) return turn;
    switch (random.below(6)) {
      case 0:
        return turn.replace(block, this.#edited(block));
      case 1:
        return turn.length > 1 ? turn.remove(block) : turn;
      case 2:
        return turn.insert(index, this.#newMessage(random.pick(["user", "system", "developer", "assistant"])));
      case 3:
        return turn.move(block, random.below(turn.length));
      case 4:
        return this.#withCopy(turn, block);
      default:
        return turn.append(this.#orphanResult());
    }
  }

  /** A copy goes without ids, and so does the response that comes after it: what needs an id is then left out. */
  #withCopy(turn: Turn, block: Block): Turn {
    const said = this.#saidOf(block);
    if (said === null || said.kind === "result") return turn;
    this.#hostedMayBeMissing ||= said.group !== null;
    return turn.insert(this.#random.below(turn.length + 1), block.withId(null));
  }

  #orphanResult(): Block {
    return toolResult({ callId: `call_${this.#random.below(1e6)}`, output: this.#newText("orphan", "result") });
  }

  async #ephemeral(turn: Turn, next: Next): Promise<Turn> {
    const extra = this.#newMessage("developer");
    const result = await next(turn.insert(this.#random.below(turn.length + 1), extra));
    return result.filter((block) => this.#saidOf(block)?.text !== extra.text);
  }

  async #hide(turn: Turn, next: Next): Promise<Turn> {
    const originals = new Map<string | null, Block>();
    const hidden = turn.map((block) => {
      if (!["user", "tool_result"].includes(block.kind) || this.#random.chance(0.5)) return block;
      originals.set(block.id, block);
      return this.#edited(block);
    });
    const result = await next(hidden);
    return result.map((block) => originals.get(block.id) ?? block);
  }

  async #repeat(turn: Turn, next: Next): Promise<Turn> {
    let result = turn;
    for (let times = 1 + this.#random.below(3); times > 0; times -= 1) {
      result = await next(this.#random.chance(0.5) ? turn : result);
    }
    return result;
  }

  async #older(turn: Turn, next: Next): Promise<Turn> {
    const first = await next(turn);
    const second = await next(first.append(this.#newMessage("user")));
    return this.#random.chance(0.5) ? first : second;
  }

  #judgeNew(asked: Asked, tools: readonly Expected[]): void {
    const { requests } = this.#server;
    for (; this.#judged < requests.length; this.#judged += 1) {
      const request = requests[this.#judged];
      if (request?.method !== "POST") continue;
      if (request.hasFaultFired) {
        this.#tally.faulty += 1;
        continue;
      }
      this.#tally.requests += 1;
      if (request.status !== 200) {
        if (this.#isLawfulRefusal(request)) this.#tally.lost += 1;
        else this.#blame(`request ${this.#judged} was refused: ${request.status} ${request.bodyText.slice(0, 2000)}`);
        continue;
      }
      const reading = this.#server.reading(this.#judged);
      const said = (this.#outgoing?.blocks ?? []).map((block) => this.#saidOf(block));
      const unknown = said.indexOf(null);
      if (reading === undefined || unknown >= 0) {
        this.#blame(`request ${this.#judged} has no reading, or block ${unknown} of its Turn was never said`);
        continue;
      }
      const known = said.filter((one) => one !== null);
      const { instructions, rest } = instructed(known, asked);
      const expected = expectedLines(rest, instructions, tools);
      if (rest.length < known.length) this.#tally.instructed += 1;
      const isCompared = (line: string): boolean => !this.#hostedMayBeMissing || !line.includes("web_search_call");
      // Where a hosted item cannot be sent, the reasoning that led to it goes with it.
      const reasoningPolicy = this.#hostedMayBeMissing ? "subset" : "exact";
      const judgement = judge(expected.filter(isCompared), readItems(reading.items, reading).filter(isCompared), {
        reasoning: reasoningPolicy,
      });
      if (!judgement.coherent) this.#blame(`request ${this.#judged}: ${judgement.summary}`);
    }
  }

  /** What was forgotten is refused once, and answered by sending more. */
  #isLawfulRefusal({ status, body }: { readonly status: number; readonly body: unknown }): boolean {
    const isChained = isJsonObject(body) && typeof body["previous_response_id"] === "string";
    if (status === 404) this.#hostedMayBeMissing = true;
    return this.#hasForgotten && (status === 404 || (status === 400 && isChained));
  }

  #blame(what: string): void {
    this.#tally.incoherent.push(`seed ${this.#seed}: ${what}`);
  }
}
