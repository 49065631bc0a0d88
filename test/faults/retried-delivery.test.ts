import { expect, test } from "vitest";
import * as z from "zod";
import type { Conversation } from "../../src/conversation/conversation.ts";
import type { RecordedEvent } from "../../src/domain/events/recorded.ts";
import type { Engine } from "../../src/engine/options/engine.ts";
import type { RunResult } from "../../src/engine/options/result.ts";
import type { EventStore } from "../../src/log/ports/event-store.ts";
import { createMemoryStore } from "../../src/stores/memory/store.ts";
import { isTelling, seeds } from "../support/cases.ts";
import { createRandom, type Random } from "../support/coherence/random.ts";
import { newCopy } from "../support/faults/module-copies.ts";

const drawn = seeds(15, 20_000, 250);
const sequences = drawn.length;

/** Two copies of turnlog, each with an owner, queues and classes of its own, as two processes have. */
async function loadCopy() {
  const load = newCopy();
  const { createEngine } = await load<typeof import("../../src/engine/options/create-engine.ts")>(
    "engine/options/create-engine.ts",
  );
  const { TurnlogStore } = await load<typeof import("../../src/conversation/turnlog-store.ts")>(
    "conversation/turnlog-store.ts",
  );
  const { tool } = await load<typeof import("../../src/engine/ports/tool.ts")>("engine/ports/tool.ts");
  const { scripted } = await load<typeof import("../../src/providers/scripted/scripted.ts")>(
    "providers/scripted/scripted.ts",
  );
  const { conversationIdSchema, keyedBlockId } = await load<typeof import("../../src/domain/ids.ts")>("domain/ids.ts");
  return {
    createEngine,
    TurnlogStore,
    tool,
    scripted,
    blockIdOf: (key: string) => keyedBlockId(conversationIdSchema.parse("cnv_shop"), key, 0),
  };
}
type Copy = Awaited<ReturnType<typeof loadCopy>>;

type Process = { readonly conversation: Conversation; readonly engine: Engine };

/** A message that came, what its deliveries were told, and whether one was told it to the end. */
type Message = { readonly key: string; readonly told: RunResult[] };

/** What a handler of a web server meets while another one is at it: it is delivered again later. */
const passing = new Set(["run-in-progress", "run-taken-over", "stepping-left"]);

class Shop {
  readonly events = createMemoryStore();
  /** What was charged, by idempotency key: the bank's own ledger. */
  readonly charges = new Map<string, number>();
  readonly messages: Message[] = [];
  crashes = 0;
  readonly #random: Random;
  readonly #copies: readonly Copy[];
  readonly #processes: Process[];
  #now = Date.parse("2026-03-01T12:00:00.000Z");
  /** Whether the owner of what is open died: another process may take it. */
  #hasDied = false;

  constructor(random: Random, copies: readonly Copy[]) {
    this.#random = random;
    this.#copies = copies;
    this.#processes = copies.map((copy) => this.#start(copy));
  }

  get last(): Conversation {
    const [{ conversation } = this.#fail()] = this.#processes;
    return conversation;
  }

  async step(): Promise<void> {
    const random = this.#random;
    if (this.messages.length === 0 || random.chance(0.3))
      this.messages.push({ key: `m${this.messages.length}`, told: [] });
    const message = random.pick(this.messages);
    const at = random.below(this.#processes.length);
    const kind = random.below(6);
    if (kind === 0) await this.#crash(at, message);
    else if (kind === 1) await this.#processes[at]?.conversation.append(message.key, { key: message.key });
    else if (kind === 2)
      await Promise.all([
        this.deliver(at, message),
        this.deliver(at, message),
        this.deliver(at, random.pick(this.messages)),
      ]);
    else if (kind === 3) await Promise.all(this.#processes.map((_, index) => this.deliver(index, message)));
    else await this.deliver(at, message);
  }

  /** What a web handler does: it appends under the message's key, and gives the answer to that message. */
  async deliver(at: number, message: Message): Promise<boolean> {
    const { conversation, engine } = this.#processes[at] ?? this.#fail();
    const { key } = message;
    try {
      await conversation.append(key, { key });
      const takeover = this.#hasDied;
      message.told.push(await conversation.run(engine, { key, takeover }));
      return true;
    } catch (error) {
      if (error instanceof Error && "code" in error && passing.has(String(error.code))) return false;
      throw error;
    }
  }

  /** A handler whose process dies somewhere on the way; another one starts in its place. */
  async #crash(at: number, { key }: Message): Promise<void> {
    const { conversation, engine } = this.#processes[at] ?? this.#fail();
    await conversation.append(key, { key });
    let stops = this.#random.below(14);
    const stepping = conversation.step(engine, { key, takeover: this.#hasDied });
    const outcome = stepping.result.catch((error: unknown) => error);
    for await (const _ of stepping) {
      stops -= 1;
      if (stops >= 0) continue;
      this.crashes += 1;
      this.#hasDied = true;
      break;
    }
    await outcome;
    const copy = this.#copies[at] ?? this.#fail();
    if (stops < 0) this.#processes[at] = this.#start(copy);
  }

  #start({ TurnlogStore, createEngine, tool, scripted }: Copy): Process {
    const clock = (): number => {
      this.#now += 1;
      return this.#now;
    };
    const charge = tool({
      name: "charge",
      description: "Charges the customer.",
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }, { idempotencyKey }) => {
        this.charges.set(idempotencyKey, (this.charges.get(idempotencyKey) ?? 0) + 1);
        return `charged ${n}`;
      },
    });
    // The model charges for what was said, and says so once it is told what came of it.
    const provider = scripted(({ input }) =>
      input.at(-1)?.["type"] === "function_call_output" ? "all is paid" : this.#calls(),
    );
    const engine = createEngine({
      provider,
      tools: [charge],
      clock,
      onInDoubt: ({ idempotencyKey }) =>
        this.charges.has(idempotencyKey) ? { how: "result", output: "charged, as the bank says" } : { how: "rerun" },
    });
    return { conversation: new TurnlogStore(this.events, { clock }).conversation("cnv_shop"), engine };
  }

  #calls() {
    const calls = Array.from({ length: 1 + this.#random.below(2) }, (_, n) => ({ name: "charge", arguments: { n } }));
    return { calls };
  }

  #fail(): never {
    throw new Error("there is no such process");
  }
}

test(`of ${sequences} random sequences of deliveries, retries, crashes and second processes every message is answered once and every call runs once`, {
  timeout: 3_600_000,
}, async () => {
  const copies = [await loadCopy(), await loadCopy()];
  const [{ blockIdOf } = { blockIdOf: () => "" }] = copies;
  const tally = { messages: 0, told: 0, again: 0, crashes: 0, charges: 0 };
  for (const seed of drawn) {
    const random = createRandom(seed);
    const shop = new Shop(random, copies);
    for (let left = 3 + random.below(8); left > 0; left -= 1) await shop.step();
    // A sender repeats a delivery until it is acknowledged.
    for (const message of shop.messages) {
      for (let tries = 0; !(await shop.deliver(tries % 2, message)); tries += 1)
        expect(tries, `seed ${seed}`).toBeLessThan(4);
    }
    const events: RecordedEvent[] = [];
    for await (const recorded of shop.last.history()) events.push(recorded);
    const completed = events.flatMap(({ event, runId }) => (event.type === "RunCompleted" ? [runId] : []));
    const appended = events.flatMap(({ event }) => (event.type === "BlockAppended" ? [event.data.block.id] : []));
    const answering = new Set<string>();
    for (const { key, told } of shop.messages) {
      expect(
        appended.filter((id) => id === blockIdOf(key)),
        `seed ${seed}: ${key} is there once`,
      ).toHaveLength(1);
      expect(new Set(told.map(({ runId }) => runId)).size, `seed ${seed}: ${key} has one answer`).toBe(1);
      expect(new Set(told.map(({ text, status }) => `${status} ${text}`))).toEqual(new Set(["completed all is paid"]));
      for (const { runId } of told) answering.add(runId);
      tally.told += told.length;
      tally.again += told.filter(({ isNew }) => !isNew).length;
    }
    // No run was made that answered nothing.
    expect(new Set(completed), `seed ${seed}`).toEqual(answering);
    expect(completed).toHaveLength(answering.size);
    // A call that died before the bank heard of it was begun twice, and ran once.
    const begun = events.flatMap(({ event }) => (event.type === "ToolStarted" ? [event.data.blockId] : []));
    expect([...shop.charges.keys()].toSorted(), `seed ${seed}`).toEqual([...new Set<string>(begun)].toSorted());
    expect(Math.max(0, ...shop.charges.values()), `seed ${seed}: a call ran twice`).toBeLessThanOrEqual(1);
    tally.messages += shop.messages.length;
    tally.crashes += shop.crashes;
    tally.charges += shop.charges.size;
  }
  if (isTelling) expect(tally.crashes).toBeGreaterThan(sequences / 4);
  if (isTelling) expect(tally.again).toBeGreaterThan(sequences);
  process.stdout.write(
    `retried delivery: ${sequences} sequences, ${tally.messages} messages, told ${tally.told} times (${tally.again} from the log), ${tally.crashes} crashes, ${tally.charges} calls\n`,
  );
});

test("a run that another process finishes while its log is read again is that process's, and not told as diverged", async () => {
  const [here, there] = [await loadCopy(), await loadCopy()];
  expect(here.TurnlogStore).not.toBe(there.TurnlogStore);
  const events = createMemoryStore();
  let meanwhile: (() => Promise<unknown>) | null = null;
  const watched: EventStore = {
    ...events,
    async *readStream(stream, options) {
      const work = meanwhile;
      // The log of the run is read from its first event, after the folds were brought to the head.
      if (options?.from === 3 && work !== null) {
        meanwhile = null;
        await work();
      }
      yield* events.readStream(stream, options);
    },
  };
  const start = ({ TurnlogStore, createEngine, tool, scripted }: Copy, store: EventStore): Process => {
    const charge = tool({
      name: "charge",
      description: "Charges.",
      inputSchema: z.object({}),
      execute: () => "charged",
    });
    const provider = scripted(({ input }) =>
      input.at(-1)?.["type"] === "function_call_output" ? "paid" : { calls: [{ name: "charge", arguments: {} }] },
    );
    return {
      conversation: new TurnlogStore(store).conversation("cnv_shop"),
      engine: createEngine({ provider, tools: [charge] }),
    };
  };
  const first = start(here, events);
  await first.conversation.append("charge me");
  const stepping = first.conversation.step(first.engine);
  const left = stepping.result.catch((error: unknown) => error);
  for await (const { kind, phase } of stepping) if (kind === "inference" && phase === "after") break;
  await left;
  const [second, other] = [start(here, watched), start(there, events)];
  meanwhile = () => other.conversation.run(other.engine, { takeover: true });
  expect(await second.conversation.run(second.engine)).toMatchObject({ text: "paid", isNew: false });
  expect(meanwhile).toBeNull();
  const ends: string[] = [];
  for await (const { event } of second.conversation.events()) if (event.type.startsWith("Run")) ends.push(event.type);
  expect(ends).toEqual(["RunStarted", "RunResumed", "RunCompleted"]);
});
