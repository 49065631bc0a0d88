import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { UIMessage } from "ai";
import * as z from "zod";
import {
  functionCall,
  message,
  type ReferenceServer,
  reasoning,
  type ScriptedAnswer,
} from "../../../packages/reference-server/src/server.ts";
import { type Chat, createChat } from "../../../src/apps/web/create-chat.ts";
import type { LiveChannel } from "../../../src/apps/web/live-channel.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { assistant, system } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { contentFilter } from "../../../src/middleware/content-filter.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { createRequestJudge, type RequestJudge } from "../../../src/testing/rehearsal/request-judge.ts";
import { Page, withoutPageIds } from "./page.ts";
import { resultsIn } from "./results-in.ts";

/** What the model answers, drawn from what it reads, so that a request that is made again is answered alike. */
export function pagesModel(seed: number) {
  return ({ reading }: { readonly reading: { readonly items: readonly unknown[] } }): ScriptedAnswer => {
    const { length } = reading.items;
    const draw = drawFrom("pages", seed, String(length));
    const thought = draw.chance(0.3) ? [reasoning({ summary: `Thought of ${length}.` })] : [];
    if (length > 9 || draw.chance(0.4))
      return { output: [...thought, message(`Answer to ${length} blocks, in a few words.`)] };
    const said = draw.chance(0.3) ? [message(`First, ${length}.`)] : [];
    const calls = Array.from({ length: draw.pick([1, 1, 2]) }, (_, n) => {
      const name = draw.pick(["look-up", "look-up", "refund", "fail"]);
      const of = `${length} ${n}`;
      return functionCall(name, JSON.stringify(name === "fail" && length % 2 === 0 ? { of, by: 1 } : { of }), {
        callId: `call_${length}_${n}`,
      });
    });
    return { output: [...thought, ...said, ...calls] };
  };
}

const habits = ["idle", "idle", "polish", "note", "twice", "remind", "filter"] as const;
/** What a filter takes out of answers. */
const hidden = "few";

/** A layer that does the same whenever it meets the same Turn. */
function layerOf(habit: (typeof habits)[number]): Layer {
  if (habit === "filter")
    return contentFilter({
      check: (text) => (text.includes(hidden) ? { reason: "hidden", values: [hidden] } : null),
      ...{ action: "redact", direction: "after" },
    });
  return defineMiddleware({ name: habit, version: "1.0.0" }, (next) => async (turn) => {
    const answered = async (given: Turn): Promise<Turn> => next(given);
    const answer = await (habit === "remind"
      ? answered(turn.append(system("Be kind."))).then((made) => made.filter(({ text }) => text !== "Be kind."))
      : answered(turn));
    if (habit === "twice" && turn.length % 2 === 0) return answered(turn);
    if (habit === "note") return answer.append(assistant(`Note after ${answer.length}.`));
    const { last } = answer;
    if (habit !== "polish" || last?.kind !== "assistant") return answer;
    return answer.replace(last, last.withText(last.text.toUpperCase()));
  });
}

const actions = ["say", "say", "say", "regenerate", "edit", "decide", "decide", "decide", "crash"] as const;
const troubles = ["none", "none", "stop", "leave", "down", "cut", "cut"] as const;

/** One conversation in two processes, and the pages that people have open of it. */
export class PagesWorld {
  readonly faults: string[] = [];
  readonly seen = {
    streams: 0,
    resumed: 0,
    decided: 0,
    stopped: 0,
    lost: 0,
    failed: 0,
    crashed: 0,
    outrun: 0,
    filtered: 0,
    compared: 0,
  };
  readonly judge: RequestJudge;
  readonly #draw: Draw;
  readonly #server: ReferenceServer;
  readonly #events = createMemoryStore();
  readonly #layer: Layer;
  readonly #isFiltered: boolean;
  readonly #stores: readonly TurnlogStore[];
  readonly #chats: readonly [Chat, Chat];
  /** The judge needs to know which run a request is of, which nothing says of one that is under way when its run is stopped or crashes. */
  readonly #isJudged: boolean;
  #messages = 0;

  constructor(seed: number, server: ReferenceServer) {
    this.#draw = drawFrom("world of pages", seed);
    this.#server = server;
    this.#isJudged = this.#draw.chance(0.5);
    this.judge = createRequestJudge(server);
    const habit = this.#draw.pick(habits);
    this.#layer = layerOf(habit);
    this.#isFiltered = habit === "filter";
    const channel = this.#draw.chance(0.7) ? this.#channel() : null;
    const [one, two] = [new TurnlogStore(this.#events), new TurnlogStore(this.#events)];
    this.#stores = [one, two];
    this.#chats = [this.#chat(one, channel), this.#chat(two, channel)];
  }

  get judgedRequests(): number {
    return this.#isJudged ? this.judge.judged : 0;
  }

  #chat(store: TurnlogStore, live: LiveChannel | null): Chat {
    const chat = createChat({
      ...{ store, engine: this.#engine(), ...(live === null ? {} : { live }) },
      access: () => ({ actor: { kind: "user", name: "ann" }, labels: { user: "ann" } }),
    });
    return this.#isFiltered ? { fetch: async (request) => this.#read(await chat.fetch(request)) } : chat;
  }

  /** Looks for what the filter takes out in everything that goes to a page. */
  #read({ body, status, headers }: Response): Response {
    const decoder = new TextDecoder();
    const reading = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        const said = decoder.decode(bytes, { stream: true });
        if (said.includes(hidden)) this.faults.push(`a page reads what the filter takes out: ${said}`);
        if (said.includes("[removed]")) this.seen.filtered += 1;
        controller.enqueue(bytes);
      },
    });
    return new Response(body?.pipeThrough(reading) ?? null, { status, headers });
  }

  #engine() {
    const described = { description: "x", inputSchema: z.object({ of: z.string() }) } as const;
    return createEngine({
      provider: openaiResponses({ model: "m", apiKey: "k", baseURL: this.#server.baseUrl }),
      tools: [
        tool({ name: "look-up", ...described, execute: ({ of }) => ({ found: of }) }),
        tool({
          name: "refund",
          ...described,
          needsApproval: "refunds are checked",
          execute: ({ of }) => `refunded ${of}`,
        }),
        tool({
          ...{ name: "fail", description: "x", inputSchema: z.strictObject({ of: z.string() }) },
          execute() {
            throw new Error("it fails");
          },
        }),
      ],
      middleware: [this.#layer, this.judge.layer],
      retry: { maxRetries: 2, unknownOutcome: 2 },
      sleep: async () => undefined,
    });
  }

  /** A channel that loses a text now and then, and repeats others. */
  #channel(): LiveChannel {
    const listeners = new Set<(text: string) => void>();
    let n = 0;
    return {
      publish(_, text) {
        n += 1;
        for (let times = n % 7 === 0 ? 0 : n % 5 === 0 ? 2 : 1; times > 0; times -= 1)
          for (const listen of listeners) listen(text);
      },
      subscribe(_, onText) {
        listeners.add(onText);
        return () => listeners.delete(onText);
      },
    };
  }

  /** One thing that a person does on a page, while others watch, and what may come between. */
  async act(): Promise<void> {
    const draw = this.#draw;
    const drawn = this.#messages === 0 ? "say" : draw.pick(actions);
    const kind = drawn === "crash" && this.#isJudged ? "say" : drawn;
    const acting = this.#messages === 0 ? new Page(this.#anyChat(), { id: "c1" }) : await this.#load();
    const happened = draw.pick(troubles);
    const trouble = happened === "stop" && this.#isJudged ? "none" : happened;
    const cutAfter = () => ({ kind: "cut", afterBytes: 100 + draw.below(4_000) }) as const;
    const down = { kind: "answer", status: 400, body: { error: { message: "refused" } } } as const;
    if (trouble === "down") this.#server.inject(undefined, down);
    if (trouble === "cut") this.#server.inject(draw.chance(0.5) ? undefined : cutAfter(), cutAfter());
    const doing = this.#do(kind, acting).then(async () => {
      await acting.settled();
      while (acting.data.includes("data-next-answer")) {
        acting.data.splice(acting.data.indexOf("data-next-answer"), 1);
        await acting.resumeStream();
      }
      return this.#head();
    });
    const others = Array.from({ length: draw.below(3) }, async () => this.#watchFrom(draw.below(12)));
    if (trouble === "stop") others.push(this.#stop(draw.below(12)));
    if (trouble === "leave") {
      await this.#ticks(draw.below(12));
      await acting.stop();
    }
    const [head] = await Promise.all([doing, ...others]);
    // The run of a page that has left goes on.
    const last = await this.#load();
    await last.resumeStream();
    await this.#compare(last, "the last page");
    // Others have gone on since, which this page has not asked for.
    const isStopped = trouble === "stop" && JSON.stringify(acting.messages).includes('"approval-requested"');
    const isOutrun = isStopped || head !== (await this.#head());
    if (isOutrun) this.seen.outrun += 1;
    if (!isOutrun && kind !== "crash" && trouble !== "leave") await this.#compare(acting, `the page that did ${kind}`);
  }

  async #head(): Promise<number> {
    return (await this.#stores[0]?.conversation("c1").head())?.revision ?? -1;
  }

  async #do(kind: (typeof actions)[number], page: Page): Promise<void> {
    const [question] = page.messages.filter(({ role }) => role === "user").slice(-1);
    this.seen.streams += 1;
    if (kind === "regenerate" && question !== undefined) return page.regenerate();
    if (kind === "edit" && question !== undefined)
      return page.sendMessage({ text: this.#words(), messageId: question.id });
    if (kind === "decide") return this.#decide(page);
    if (kind === "crash") return this.#crash();
    return page.sendMessage({ text: this.#words() });
  }

  async #decide(page: Page): Promise<void> {
    const waiting = (page.messages.findLast(({ role }) => role === "assistant")?.parts ?? []).flatMap((part) =>
      part.type === "dynamic-tool" && part.state === "approval-requested" ? [part.approval.id] : [],
    );
    for (const id of waiting) await page.addToolApprovalResponse({ id, approved: this.#draw.chance(0.7) });
    this.seen.decided += waiting.length;
  }

  /** A process dies in the middle of a run; the pages that ask for its stream take it up. */
  async #crash(): Promise<void> {
    const [store] = this.#stores;
    if (store === undefined) return;
    const conversation = store.conversation("c1");
    await conversation.append(this.#words());
    let left = this.#draw.below(9);
    const stepping = conversation.step(this.#engine());
    const ended = stepping.result.catch((error: unknown) => error);
    for await (const _ of stepping) {
      left -= 1;
      if (left < 0) break;
    }
    await ended;
    if (left < 0) this.seen.crashed += 1;
  }

  #words(): string {
    this.#messages += 1;
    return `Message ${this.#messages}.`;
  }

  async #stop(after: number): Promise<void> {
    await this.#ticks(after);
    const chat = this.#anyChat();
    const answer = await new Page(chat, { id: "c1" }).fetch("/api/chat/c1/stop", { method: "POST" });
    if (answer.ok && JSON.stringify(await answer.json()).includes("cancelled")) this.seen.stopped += 1;
  }

  /** Somebody opens the page in the middle. What it shows when its stream has ended is only compared by what it was sent: others go on. */
  async #watchFrom(after: number): Promise<void> {
    await this.#ticks(after);
    const page = await this.#load();
    this.seen.resumed += 1;
    await page.resumeStream();
  }

  async #ticks(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick += 1) await setImmediate();
  }

  #anyChat(): Chat {
    return this.#draw.pick(this.#chats);
  }

  async #load(): Promise<Page> {
    const chat = this.#anyChat();
    return this.#messages === 0 ? new Page(chat, { id: "c1" }) : Page.loadIfThere(chat, "c1");
  }

  async #compare(page: Page, which: string): Promise<void> {
    this.seen.compared += 1;
    const loaded = await this.#load();
    if (page.error !== undefined) this.seen.failed += 1;
    if (page.data.includes("data-turn-changed")) {
      this.seen.lost += 1;
      return;
    }
    const [left, right] = [page.messages, loaded.messages].map((messages) => withoutPageIds(shownOf(messages)));
    if (isDeepStrictEqual(left, right)) return;
    this.faults.push(
      `${which} shows ${JSON.stringify(left)}, and the server has ${JSON.stringify(right)}: ${page.error} ${page.requests.join()}`,
    );
  }

  /** Says how the calls ended that a crash has left in doubt. Pages cannot. */
  async #settleDoubts(): Promise<boolean> {
    const [store] = this.#stores;
    if (store === undefined) return false;
    const conversation = store.conversation("c1");
    const waiting = (await (await conversation.at(-1)).load()).run?.waitingFor ?? [];
    const doubts = waiting.filter(({ kind }) => kind === "doubt");
    for (const { blockId } of doubts) await conversation.settle(blockId, { how: "result", output: "settled" });
    return doubts.length > 0;
  }

  /** Decides everything, until nothing waits and every message is answered or has failed. */
  async #finish(): Promise<void> {
    for (let round = 0; round < 20; round += 1) {
      const isSettled = await this.#settleDoubts();
      const page = await this.#load();
      await page.resumeStream();
      const before = this.seen.decided;
      await this.#decide(page);
      await page.settled();
      if (this.seen.decided === before && !isSettled) return;
    }
    this.faults.push("the conversation did not come to its end");
  }

  /** The messages of the server are the Turn: every text, call and result of it, in its order. */
  async check(): Promise<void> {
    const [store] = this.#stores;
    await this.#finish();
    const turn = await store?.conversation("c1").turn();
    const { messages } = await this.#load();
    const blocks = (turn?.blocks ?? []).filter(({ kind }) => kind !== "system");
    const results = resultsIn(blocks);
    const expected = blocks.flatMap((block) => {
      if (block.kind === "tool_result" || block.text === "") return [];
      return [block.kind === "tool_call" ? `${block.name} ${block.arguments} ${results.get(block.id)}` : block.text];
    });
    const parts = messages.flatMap((each): readonly UIMessage["parts"][number][] => each.parts);
    const shown = parts.flatMap((part) => {
      if (part.type === "text" || part.type === "reasoning") return [part.text];
      if (part.type !== "dynamic-tool") return [];
      const { output, errorText } = { output: undefined, errorText: undefined, ...part };
      const denied = part.state === "output-denied" ? results.get(part.toolCallId) : undefined;
      return [`${part.toolName} ${JSON.stringify(part.input)} ${textOf(output ?? errorText ?? denied)}`];
    });
    // A denied call's text is for the model, and a page shows that it was denied.
    const known = (text: string): string => text.replace(/ (denied|not approved).*$/s, " undefined");
    if (JSON.stringify(shown.map(known)) !== JSON.stringify(expected.map(known)))
      this.faults.push(`the server shows ${JSON.stringify(shown)}, and the Turn has ${JSON.stringify(expected)}`);
    if (this.#isJudged) this.faults.push(...this.judge.incoherences);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#stores) await store.close();
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Without messages that show nothing, such as an answer that was taken back whole. */
const shownOf = (messages: readonly UIMessage[]): readonly UIMessage[] =>
  messages.filter(({ parts }) => parts.some(({ type }) => type !== "step-start"));
