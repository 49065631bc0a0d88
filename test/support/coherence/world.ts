import { z } from "zod";
import type { Expected, Fault, ScriptedAnswer } from "../../../packages/reference-server/src/server.ts";
import type { PlannedEndpoint } from "../../../src/analysis/time-travel/past.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Block } from "../../../src/domain/block.ts";
import { toolResult } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import type { RunResult } from "../../../src/engine/options/result.ts";
import type { RunPart } from "../../../src/engine/options/run-part.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { AnswerOptions } from "../../../src/engine/run/run-options.ts";
import { firstSeed } from "../cases.ts";
import type { Dialect, Front } from "../dialect.ts";
import { everyThird, guarded } from "../providers/guarded.ts";
import { replayed } from "../replayed.ts";
import { compacted } from "./compacted.ts";
import { Connected } from "./connected.ts";
import { Erasures } from "./erasures.ts";
import { InterruptionReader, type Interruptions } from "./interrupted.ts";
import { createRandom, type Random } from "./random.ts";
import { broughtLayer, randomLayer } from "./random-layer.ts";
import { cameAs, recordedRequests } from "./recorded-requests.ts";
import { Speech } from "./speech.ts";
import type { Tally } from "./tally.ts";
import { Troubles } from "./troubles.ts";
import { type AskedRun, isAsked, WorldJudge } from "./world-judge.ts";

/**
 * Plays worlds of a dialect until the judge has looked at so many requests; of several, the seed says which.
 *
 * @param options - `troubled` is the share of worlds whose events are damaged and skipped, and to which others append in mid-run; `erasing` that of worlds from which blocks are erased between runs. `onWorld` is
 * given the store of each world that was played, before it is closed.
 */
export async function play(
  dialects: Dialect | readonly [Dialect, ...Dialect[]],
  { requests, tally, troubled = 0, erasing = 0, onWorld = async () => undefined, encoding = "lines" }: PlayOptions,
) {
  let playing: World | null = null;
  const all = [dialects].flat();
  const servers: Front[] = [];
  try {
    const answer = () => playing?.answer() ?? { output: [] };
    for (const dialect of all)
      servers.push(await dialect.start(answer), await dialect.start(answer, undefined, "worlds"));
    for (let seed = firstSeed; tally.requests < requests && tally.incoherent.length < 5; seed += 1) {
      const at = seed % all.length;
      // A third of them answer as servers really do.
      const isUntidy = createRandom(seed + 0x71d7).chance(0.33);
      const [dialect, server] = [all[at], servers[2 * at + (isUntidy ? 1 : 0)]];
      if (dialect === undefined || server === undefined) throw new Error("there is no dialect to play");
      server.clear();
      playing = new World(seed, { server, dialect, troubled, erasing }, tally);
      try {
        await playing.play({ encoding, onWorld });
      } catch (error) {
        tally.incoherent.push(
          `seed ${seed}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
        );
      }
    }
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

type PlayOptions = {
  readonly requests: number;
  readonly tally: Tally;
  readonly troubled?: number;
  readonly erasing?: number;
  readonly onWorld?: (store: TurnlogStore) => Promise<void>;
  readonly encoding?: "json" | "lines";
};

/**
 * One random conversation: a server that answers at random, a stack that edits at random, and a judge that looks at every
 * request. What was said is kept by nonce, outside turnlog.
 */
class World {
  readonly #random: Random;
  /** Draws what is made shorter, so that the other draws of a seed stay what they are. */
  readonly #compacting: Random;
  /** Draws what is had ready before anybody asks, likewise. */
  readonly #warming: Random;
  /** Draws which runs break off, with which note for the model, which parts it must not miss, and at which server it is. */
  readonly #breaking: Random;
  /** Draws which calls are answered after the run that made them, and when, likewise. */
  readonly #answering: Random;
  /** Draws which layer of turnlog's own is in the stack, and where, likewise. */
  readonly #bringing: Random;
  readonly #server: Front;
  readonly #dialect: Dialect;
  readonly #speech: Speech;
  readonly #tally: Tally;
  readonly #judge: WorldJudge;
  readonly #answered: string[] = [];
  readonly #troubles: Troubles;
  readonly #erasures: Erasures;

  constructor(
    seed: number,
    {
      server,
      dialect,
      troubled,
      erasing,
    }: { readonly server: Front; readonly dialect: Dialect; readonly troubled: number; readonly erasing: number },
    tally: Tally,
  ) {
    this.#random = createRandom(seed);
    this.#compacting = createRandom(seed + 0x5eed);
    this.#warming = createRandom(seed + 0x3a54);
    this.#breaking = createRandom(seed + 0xb4ea);
    this.#answering = createRandom(seed + 0x1a7e);
    this.#bringing = createRandom(seed + 0xb819);
    this.#speech = new Speech(seed, this.#random, dialect);
    this.#server = server;
    this.#dialect = dialect;
    this.#tally = tally;
    this.#judge = new WorldJudge({ seed, server, dialect, speech: this.#speech, tally });
    const blame = (what: string): void => this.#judge.blame(what);
    const befallen = { seed, speech: this.#speech, dialect, tally, blame };
    this.#troubles = new Troubles(befallen, troubled);
    this.#erasures = new Erasures(befallen, erasing);
  }

  async play({ encoding, onWorld }: Required<Pick<PlayOptions, "encoding" | "onWorld">>): Promise<void> {
    const random = this.#random;
    const speech = this.#speech;
    const troubles = this.#troubles;
    await using store = new TurnlogStore(troubles.operator.events, { encoding, codecs: this.#dialect.codecs });
    await using connected = new Connected();
    const interruptions = new InterruptionReader(store);
    let conversation = store.conversation();
    let lastAsked: PlannedEndpoint | null = null;
    const instructions = random.chance(0.5) ? "Be exact." : "";
    const lookUp = tool({
      name: "look-up",
      description: "Looks up.",
      inputSchema: z.object({ of: z.string() }),
      execute: async (_, { signal }) => {
        await troubles.during(conversation, signal);
        return this.#speech.newText("result", "result");
      },
    });
    const hasTools = random.chance(0.8);
    const isStored = random.chance(0.85);
    // Ids of unstored and of forgotten items are not sent, and hosted items cannot go without.
    this.#speech.hostedMayBeMissing = !isStored;
    const parameters = { type: "object", properties: { of: { type: "string" } }, required: ["of"] };
    const tools: Expected[] = hasTools
      ? [this.#dialect.toolRead({ name: "look-up", description: "Looks up.", parameters })]
      : [];
    const isAtTwo = this.#breaking.chance(0.4);
    if (random.chance(0.5)) await conversation.append(this.#speech.newMessage("system"));
    for (let run = 1 + random.below(4); run > 0; run -= 1) {
      await troubles.between(conversation);
      await this.#erasures.between(store, conversation, lastAsked);
      if (this.#answering.chance(0.4)) await this.#answerLate(conversation);
      await conversation.append(this.#speech.newMessage("user"));
      if (this.#answering.chance(0.4)) await this.#answerLate(conversation);
      if (random.chance(0.1))
        await conversation.append(this.#speech.newMessage(random.pick(["user", "developer", "assistant"])));
      this.#injectFault();
      const layers = Array.from({ length: random.below(4) }, (_, index) => randomLayer(index, { random, speech }));
      if (this.#bringing.chance(0.4))
        layers.splice(this.#bringing.below(layers.length + 1), 0, broughtLayer({ random: this.#bringing, speech }));
      const breaking = this.#breaking;
      const server = isAtTwo && breaking.chance(0.5) ? "second" : "first";
      const isStrict = breaking.chance(0.1);
      const note = breaking.chance(0.7) && (breaking.chance(0.7) || speech.newNote());
      // A call of a run that was cancelled may come back when the next one has begun.
      let isOver = false;
      const probe = defineMiddleware({ name: "probe", version: "1.0.0" }, (next) => async (turn, { signal }) => {
        this.#judge.outgoing = turn;
        const asked: AskedRun = { instructions, systemAs, server: provider.scope, isStrict };
        try {
          await troubles.during(conversation, signal);
          return await next(turn);
        } catch (error) {
          if (codeOf(error) === "part-unsendable") this.#judge.judgeRefusal(asked);
          throw error;
        } finally {
          if (!isOver) this.#judge.judgeNew(asked, tools);
        }
      });
      const abort = new AbortController();
      const breakOff = this.#breakOff(abort);
      const transport = random.pick(this.#dialect.transports);
      const hasObjects = isStored && transport !== "websocket";
      const mode = random.pick(this.#dialect.modes.filter((each) => hasObjects || each !== "conversation"));
      if (mode === "conversation") this.#tally.inObjects += 1;
      if (mode === "stateless") this.#tally.stateless += 1;
      // What nobody keeps has no id to be sent by, and hosted items cannot go without; `auto` may come to that.
      if (mode === "stateless" || mode === "auto") this.#speech.hostedMayBeMissing = true;
      const compact = this.#compacting.chance(0.15) ? this.#compactPolicy() : null;
      const systemAs = random.chance(0.25) ? "instructions" : "input";
      if (random.chance(0.05)) this.#server.cut();
      const bare = connected.provider(`${transport} ${systemAs} ${server}`, random.chance(0.8), () =>
        this.#dialect.provider(this.#urlOf(server), {
          model: "model-1",
          ...(instructions === "" ? {} : { instructions }),
          transport,
          ...(isStored ? {} : { store: false }),
          systemAs,
        }),
      );
      const provider = run % 2 === 0 ? guarded(bare, everyThird()) : bare;
      speech.server = provider.scope;
      lastAsked = provider;
      const engine = createEngine({
        provider,
        tools: hasTools ? [lookUp] : [],
        middleware: [...breakOff, ...layers, probe],
        mode,
        ...(compact === null ? {} : { compact }),
        maxSteps: 6,
        // An object would hold a request twice.
        ...(mode === "conversation" || this.#dialect.hasOwnTools === true
          ? {}
          : { retry: { unknownOutcome: this.#answering.below(3) } }),
        onUnsendablePart: isStrict ? "throw" : "omit",
        interruptionNote: note,
        sleep: async () => undefined,
        observers: [{ next: (part) => this.#look(part, compact?.keep ?? 0) }],
      });
      if (transport === "websocket" && this.#warming.chance(0.9)) await this.#warmUp(conversation, engine);
      const again = random.chance(0.1);
      const before = await interruptions.of(conversation, { hasSkips: troubles.operator.hasSkippedAny });
      const last = (await conversation.turn()).at(-1)?.text;
      const first = await this.#run(conversation, engine, { signal: abort.signal });
      if (!troubles.hasSkipped && !before.isSkipped) {
        const after = await interruptions.of(conversation, { hasSkips: troubles.operator.hasSkippedAny });
        this.#compareNotes(before, after, { note, last });
      }
      if (first !== null && again) await this.#run(conversation, engine, { again });
      else if (first !== null && random.chance(0.3) && !troubles.hasMeddled)
        await this.#deliverAgain(conversation, engine, first);
      isOver = true;
      if (random.chance(0.15) || troubles.wantsFork()) conversation = await this.#forked(conversation);
      else if (random.chance(0.05)) await this.#revert(conversation);
      if (this.#compacting.chance(0.1)) await this.#compact(conversation);
    }
    await troubles.end();
    await this.#erasures.end(store);
    await this.#compareBodies(store);
    await this.#replay(store);
    // Folded anew from the first event, the log gives what the writer held.
    const past = await conversation.at(-1);
    if (past.turn.digest !== (await conversation.turn()).digest) this.#judge.blame("the log folds to another Turn");
    await onWorld(store);
  }

  /** A layer that breaks the run off behind a step, if anything does. */
  #breakOff(abort: AbortController): readonly Layer[] {
    const random = this.#breaking;
    if (!random.chance(0.15)) return [];
    const isCancelled = random.chance(0.5);
    let stepsLeft = random.below(2);
    const breakOff = defineMiddleware({ name: "break-off", version: "1.0.0" }, (next) => async (turn) => {
      const result = await next(turn);
      stepsLeft -= 1;
      if (stepsLeft >= 0) return result;
      if (!isCancelled) throw new Error("the run broke off");
      abort.abort();
      return result;
    });
    return [breakOff];
  }

  /** Somebody gives what calls asked for that no run has answered: now, or when others have spoken. Any other result is refused. */
  async #answerLate(conversation: Conversation): Promise<void> {
    const random = this.#answering;
    const { blocks } = await conversation.turn();
    const open = unansweredIn(blocks);
    const result = (callId: string) => toolResult({ callId, output: this.#speech.newText("late", "result") });
    const ofOthers = blocks.flatMap(({ callId }) => (callId === null || open.includes(callId) ? [] : [callId]));
    if (ofOthers.length > 0 && random.chance(0.2)) {
      const refused = await conversation.append(result(random.pick(ofOthers))).catch((error: unknown) => error);
      if (codeOf(refused) !== "no-open-call") this.#judge.blame("a result was taken that answers no open call");
    }
    for (const callId of open) {
      if (!random.chance(0.6)) continue;
      await conversation.append(result(callId));
      this.#tally.late += 1;
    }
  }

  /** A second server is the same one, by another name: who asks there cannot know that. */
  #urlOf(server: "first" | "second"): string {
    const { url } = this.#server;
    return server === "first" ? url : url.replace("127.0.0.1", "localhost");
  }

  /** The note about a run that broke off is in its place, once, and there are no other notes. */
  #compareNotes(
    before: Interruptions,
    { notes }: Interruptions,
    { note, last }: { readonly note: boolean | string; readonly last: string | undefined },
  ): void {
    const text = note === true ? before.due : note;
    const isDue = before.due !== null && text !== false && text !== last;
    const told = notes.slice(before.notes.length);
    if (told.length !== (isDue ? 1 : 0) || !told.every((block) => block.includes(JSON.stringify(text))))
      this.#judge.blame(
        `the model was told ${told.join()} where it was to be told ${isDue ? String(text) : "nothing"}`,
      );
  }

  /** Runs the conversation; null when the run failed, as some do. */
  async #run(conversation: Conversation, engine: Engine, options: AnswerOptions): Promise<RunResult | null> {
    this.#troubles.begin();
    try {
      const result = await conversation.run(engine, options);
      if (options.again === true) this.#tally.again += 1;
      if (this.#troubles.isLeftDamaged)
        this.#judge.blame("a run of a fork completed behind a skip in its parent that left the fork damaged");
      if (!result.isNew && !this.#troubles.hasSkipped) this.#judge.blame("a run that somebody waits for was not made");
      return result;
    } catch (error) {
      this.#tally.failedRuns += 1;
      const isExpected =
        codeOf(error) === "run-failed" ||
        (codeOf(error) === "run-cancelled" && options.signal?.aborted) ||
        (codeOf(error) === "empty-conversation" && (await conversation.turn()).length === 0) ||
        this.#troubles.mayEndWith(codeOf(error));
      if (!isExpected) this.#judge.blame(`run ended with ${String(error)}`);
      return null;
    } finally {
      await this.#troubles.after(conversation);
    }
  }

  /** A delivery that comes twice: nobody is asked, and what is given is what was given. An answer without blocks is none: its message is asked again. */
  async #deliverAgain(conversation: Conversation, engine: Engine, first: RunResult): Promise<void> {
    if (first.blocks.length === 0) return;
    const before = this.#server.requests.length;
    const second = await conversation.run(engine);
    this.#tally.repeated += 1;
    if (this.#server.requests.length !== before) this.#judge.blame("a message that was answered was asked again");
    const isSame = JSON.stringify({ ...second, isNew: true }) === JSON.stringify(first);
    if (second.isNew || !isSame) this.#judge.blame("the recorded result is not the result that was given");
  }

  /** Thresholds that many Turns of a world reach. */
  #compactPolicy() {
    const random = this.#compacting;
    const tokens = () => 20 + random.below(150);
    return { beforeRequest: tokens(), afterRun: tokens(), keep: 1 + random.below(2), how: ["drop-exchanges"] } as const;
  }

  #look(part: RunPart, keep: number): void {
    if (part.type === "compacted") {
      this.#tally.compacted += 1;
      const { because } = part.compaction;
      if (because === "before-request")
        this.#judge.outgoing = this.#judge.outgoing?.with(compacted(this.#judge.outgoing.blocks, keep)) ?? null;
    }
    if (part.type === "attempt-discarded" && part.retryInMs !== undefined) this.#tally.retried += 1;
  }

  /** Goes on from any revision: most often from the newest, else also from the middle of a run. */
  async #forked(conversation: Conversation): Promise<Conversation> {
    const random = this.#random;
    const { revision } = await conversation.at(-1);
    this.#tally.forks += 1;
    return conversation.fork(random.chance(0.4) ? revision : random.below(revision + 1));
  }

  /** Nothing goes out for it that no layer has handed on; what continues from it is judged as every request. */
  async #warmUp(conversation: Conversation, engine: Engine): Promise<void> {
    const { requests } = this.#server;
    const heard = new Set(
      [...requests.map(({ bodyText }) => bodyText), ...this.#answered].flatMap((text) => text.match(/n\d+x/g) ?? []),
    );
    const before = requests.length;
    const { status } = await conversation.warmUp(engine);
    this.#judge.judgeWarmUp({ before, heard, status });
  }

  /** Between two runs; one that was cut off stands open. */
  async #compact(conversation: Conversation): Promise<void> {
    if ((await conversation.at(-1)).run !== null) return;
    const { length } = await conversation.turn();
    const shorter = await conversation.compact({ how: "drop-exchanges", keep: 1 });
    if (shorter.length < length) this.#tally.compacted += 1;
  }

  async #revert(conversation: Conversation): Promise<void> {
    const { exchanges } = await conversation.turn();
    if (exchanges.length > 0) await conversation.revertToExchange(this.#random.below(exchanges.length));
  }

  /** Planned, shaped and encoded again from events alone, every conversation says what it said, its forks included. */
  async #replay(store: TurnlogStore): Promise<void> {
    for await (const id of store.conversations()) {
      const { difference } = await replayed(store, { id });
      if (difference !== null && !this.#troubles.operator.hasSkippedAny)
        this.#judge.blame(`replay of ${id}@${difference.revision}: ${difference.message}`);
    }
  }

  /** Law 7: the bodies that the events give are the bodies that the server received. */
  async #compareBodies(store: TurnlogStore): Promise<void> {
    const recorded = await recordedRequests(store, {
      sound: this.#troubles.operator.sound,
      hasSkips: this.#troubles.operator.hasSkippedAny,
    });
    for (const request of recorded) {
      if (request === "skipped") continue;
      const { strategy, transport, lives, isWarmUp, isWarm } = request;
      if (isWarmUp) this.#tally.warmUps += 1;
      else this.#tally[strategy] += 1;
      if (isWarm) this.#tally.warm += 1;
      if (transport === "websocket") this.#tally.overSocket += 1;
      if (lives) this.#tally.lived += 1;
    }
    const { told = (bodyText: string): string => bodyText } = this.#dialect;
    const received = this.#server.requests.filter(isAsked).map(({ bodyText }) => told(bodyText));
    const { isSame, at } = cameAs(recorded, received, {
      told,
      isGone: (body) => this.#speech.hasLostSettings || this.#speech.saysGone(body),
    });
    if (!isSame) this.#judge.blame(`the body of request ${at} is not what the events give`);
  }

  /** The model's answer to a request. */
  answer(): ScriptedAnswer {
    const answer = this.#speech.answer();
    this.#answered.push(JSON.stringify(answer.output));
    const count = (type: string): number => answer.output.filter(({ item }) => item["type"] === type).length;
    this.#tally.responses += 1;
    if (count("function_call") > 1) this.#tally.parallel += 1;
    if (count("reasoning") > 0) this.#tally.reasoned += 1;
    return answer;
  }

  /** Now and then a server that fails, forgets, or answers something else than was asked. */
  #injectFault(): void {
    const random = this.#random;
    const known = this.#server.responseIds();
    if (known.length > 0 && random.chance(0.15)) {
      this.#server.forget(random.pick(known));
      this.#judge.hasForgotten = true;
    }
    if (random.chance(0.85)) return;
    const error = { error: { message: "try later", type: "server_error", code: null, param: null } };
    const fault = random.pick<Fault>([
      { kind: "answer", status: 500, body: error },
      { kind: "answer", status: 429, body: error },
      { kind: "answer", status: 503, body: error, headers: { "retry-after": "3" } },
      { kind: "lost-acknowledgement" },
      { kind: "cut", afterBytes: random.below(3000) },
      { kind: "ignore-previous" },
      { kind: "unstored" },
    ]);
    this.#judge.hasForgotten ||= fault.kind === "unstored";
    // Once more than a request is sent again, now and then.
    const times = fault.kind === "answer" ? 1 + random.below(4) : 1;
    this.#server.inject(...Array.from({ length: times }, () => fault));
  }
}

/** The ids of the calls that nothing in a Turn answers, newest first: a result answers the nearest call of its id. */
function unansweredIn(blocks: readonly Block[]): readonly string[] {
  const open: string[] = [];
  for (const { kind, callId, wire } of blocks) {
    const isWhole = wire?.partial !== true && wire?.incomplete !== true;
    if (kind === "tool_call" && callId !== null && isWhole) open.push(callId);
    const answered = kind === "tool_result" && callId !== null ? open.lastIndexOf(callId) : -1;
    if (answered >= 0) open.splice(answered, 1);
  }
  return open.toReversed();
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : null);
