import { commit } from "../../../src/conversation/commit.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { blockToJson } from "../../../src/domain/block-json.ts";
import { blockIdSchema, conversationStream } from "../../../src/domain/ids.ts";
import { toolResult, user } from "../../../src/domain/make-block.ts";
import { randomId } from "../../../src/log/codec/ids.ts";
import { verification } from "../../../src/operations/audit/verify.ts";
import { codecsWith } from "../../../src/providers/codecs.ts";
import { untilAborted } from "../gates.ts";
import { takeSnapshots } from "../log/take-snapshots.ts";
import { type HowToSkip, isUnknownAfterSkip, Operator, type Troubled } from "./operator.ts";
import { createRandom, type Random } from "./random.ts";

/** A message that somebody has been told is durable. */
type Acknowledged = { readonly stream: string; readonly blockId: string };

/**
 * What befalls the conversations of a world from outside: events are damaged and skipped by an operator, in the conversation, in its
 * ancestors, between runs and in the middle of one; another process appends while a run is open, or ends it.
 */
export class Troubles {
  readonly #random: Random;
  readonly #of: Troubled;
  readonly operator: Operator;
  readonly #acknowledged: Acknowledged[] = [];
  /** Of the run that is open: what others said, and how it may end because of them. */
  #saidMeanwhile: Acknowledged[] = [];
  #mayEnd = new Set<string>();
  #hasSkipped = false;
  #isLeftDamaged = false;
  #hasSaid = false;
  #last: Promise<void> = Promise.resolve();
  readonly #isQuiet: boolean;

  constructor(of: Troubled, share: number) {
    this.#of = of;
    this.#random = createRandom(of.seed + 0x70b1);
    this.operator = new Operator(of, this.#random);
    this.#isQuiet = !this.#random.chance(share);
  }

  /** Whether others changed what the open run, or the one that has just ended, answers. */
  get hasMeddled(): boolean {
    return this.#hasSaid || this.#mayEnd.size > 0 || this.#hasSkipped;
  }

  /** Whether the operator skipped an event since the run began. */
  get hasSkipped(): boolean {
    return this.#hasSkipped;
  }

  /** Whether a skip in an ancestor during the run left the fork damaged, so that the run cannot complete. */
  get isLeftDamaged(): boolean {
    return this.#isLeftDamaged;
  }

  mayEndWith(code: unknown): boolean {
    return this.#mayEnd.has(String(code));
  }

  /** Before a run: an event of the conversation, or of an ancestor's stretch, is found damaged, and skipped. */
  async between(conversation: Conversation): Promise<void> {
    if (this.#isQuiet) return;
    const random = this.#random;
    if (random.chance(0.3)) await this.#relabel(conversation);
    if (random.chance(0.3)) await this.#takeSnapshots(conversation);
    if (random.chance(0.35)) await this.#damageAndSkip(conversation, { mayForkBefore: true, mayLeaveFork: false });
  }

  /** Returns whether the conversation is a fork that the skip left damaged. */
  async #damageAndSkip(conversation: Conversation, how: HowToSkip): Promise<boolean> {
    // Until the skip nobody goes on, the run that is open neither.
    this.#mayEnd.add("conversation-damaged");
    const { hasSkipped, hasEndedRun, leavesForkDamaged } = await this.operator.damageAndSkip(conversation, how);
    this.#hasSkipped ||= hasSkipped;
    if (leavesForkDamaged) this.#of.tally.leftForks += 1;
    this.#isLeftDamaged ||= leavesForkDamaged;
    if (hasEndedRun) this.#mayEnd.add("run-taken-over");
    return leavesForkDamaged;
  }

  /** Whether the conversation goes on in a fork of it: more often than in other worlds. */
  wantsFork(): boolean {
    return !this.#isQuiet && this.#random.chance(0.25);
  }

  /** A run begins: what came before does not count any more. */
  begin(): void {
    this.#saidMeanwhile = [];
    this.#hasSaid = false;
    this.#mayEnd = new Set();
    this.#hasSkipped = false;
    this.#isLeftDamaged = false;
  }

  /** In the middle of a run of this process; one after another, where tools run side by side. */
  during(conversation: Conversation, signal: AbortSignal): Promise<void> {
    if (this.#isQuiet) return Promise.resolve();
    this.#last = this.#last.then(() => this.#during(conversation, signal));
    return this.#last;
  }

  async #during(conversation: Conversation, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isLeftDamaged || !this.#random.chance(0.4)) return;
    const random = this.#random;
    await using others = this.operator.process();
    const other = others.conversation(conversation.id);
    for (let times = 1 + random.below(2); times > 0; times -= 1) {
      const what = random.below(20);
      if (what < 5) await this.#say(random.chance(0.7) ? other : conversation);
      else if (what < 7) await this.#relabel(other);
      else if (what < 9) await this.#finishLate(other);
      else if (what < 10) await this.#askToEnd(other, signal);
      else if (what < 14) await this.#take(other);
      else if (await this.#damageAndSkip(conversation, { mayForkBefore: false, mayLeaveFork: true })) return;
    }
  }

  /** A run has ended, one way or another: the process that ran it and one that reads the log see the same. */
  async after(conversation: Conversation): Promise<void> {
    // Tools of a run that was taken may be at it still.
    await this.#last;
    if (this.#isQuiet) return;
    if (this.#isLeftDamaged) await this.operator.heal(conversation);
    await using others = this.operator.process();
    const other = others.conversation(conversation.id);
    if ((await other.at(-1)).run !== null) {
      if (!this.#mayEnd.has("run-taken-over") && !this.#hasSkipped)
        this.#of.blame("a run stayed open that nobody took");
      await other.abandon({ takeover: true });
    }
    const [seen, logged] = [await conversation.turn(), await other.turn()];
    if (seen.digest !== logged.digest) this.#of.blame("the process that ran it holds another Turn than the log gives");
    await this.#comparePast(other);
    for (const { blockId } of this.#saidMeanwhile)
      if (!logged.blocks.some(({ id }) => id === blockId) && !this.#hasSkipped)
        this.#of.blame(`${blockId} was appended while a run was open, and is not in the Turn after it`);
  }

  /** More often than the product does, so that these conversations have some. */
  async #takeSnapshots(conversation: Conversation): Promise<void> {
    await takeSnapshots(this.operator.events, conversationStream(conversation.id), { events: 4, edits: 5 });
  }

  /** A revision of the past is the same with snapshots and without. */
  async #comparePast(conversation: Conversation): Promise<void> {
    await using plain = this.operator.reader();
    const head = await this.operator.sound.head(conversationStream(conversation.id));
    const revision = this.#random.below((head?.revision ?? 0) + 1);
    const digestOf = (of: Conversation): Promise<string> =>
      of.at(revision).then(
        ({ turn }) => turn.digest,
        (error: unknown) => String(error),
      );
    const [quick, slow] = [await digestOf(conversation), await digestOf(plain.conversation(conversation.id))];
    if (quick !== slow) this.#of.blame(`at ${revision} a snapshot gives ${quick}, and the events give ${slow}`);
  }

  /** What was acknowledged is in the log, or an operator has skipped it; and the log is sound but for what was skipped. */
  async end(): Promise<void> {
    if (this.#isQuiet) return;
    await using others = this.operator.process();
    for await (const id of others.conversations()) await this.operator.heal(others.conversation(id));
    for (const stream of new Set(this.#acknowledged.map((each) => each.stream)))
      await this.#findAcknowledged(others.conversation(stream.slice("conversation-".length)));
    const { problems } = await verification(this.operator.events, { codecs: codecsWith(this.#of.dialect.codecs) });
    const [problem] = problems.filter((each) => !(this.operator.hasSkippedAny && isUnknownAfterSkip(each)));
    if (problem !== undefined) this.#of.blame(`verify: ${JSON.stringify(problem)}`);
  }

  async #findAcknowledged(conversation: Conversation): Promise<void> {
    const stream = conversationStream(conversation.id);
    const there = new Set<string>();
    const holes = new Set<number>();
    for await (const { event, revision } of conversation.events())
      if (event.type === "BlockAppended") there.add(event.data.block.id);
      else if (event.type === "skipped") holes.add(revision);
    const skipped: string[] = [];
    for await (const { revision, data } of this.operator.sound.readStream(stream))
      if (holes.has(revision)) skipped.push(data);
    const lost = this.#acknowledged.filter(
      (each) =>
        each.stream === stream && !there.has(each.blockId) && !skipped.some((data) => data.includes(each.blockId)),
    );
    if (lost.length > 0) this.#of.blame(`${lost.map(({ blockId }) => blockId).join()} was acknowledged and is gone`);
  }

  async #say(conversation: Conversation): Promise<void> {
    const said = user(this.#of.speech.newText("meanwhile", "user"));
    const isOpen = (await this.operator.openRunIn(conversation)) !== null;
    const { blocks } = await conversation.append(said);
    this.#hasSaid = true;
    for (const { id } of blocks) {
      if (id === null) continue;
      const acknowledged = { stream: conversationStream(conversation.id), blockId: id };
      // What comes before the run is durable is in the Turn that it begins with, and layers may take it out.
      if (isOpen) this.#saidMeanwhile.push(acknowledged);
      this.#acknowledged.push(acknowledged);
    }
    this.#of.tally.meanwhile += 1;
  }

  async #relabel(conversation: Conversation): Promise<void> {
    await conversation.relabel({ labels: { [`label-${this.#random.below(5)}`]: String(this.#random.below(1e6)) } });
    this.#of.tally.meanwhile += 1;
  }

  /** A tool of a run that has ended comes back. */
  async #finishLate(conversation: Conversation): Promise<void> {
    const { blocks } = await conversation.turn();
    const call = blocks.find(({ kind, callId }) => kind === "tool_call" && callId !== null);
    if (call === undefined || call.id === null || call.callId === null) return;
    const runId = /^run_\w+/.exec(call.id)?.[0];
    if (runId === undefined) return;
    const output = this.#of.speech.newText("too late", "result");
    const resultId = blockIdSchema.parse(randomId("blk"));
    const result = blockToJson(toolResult({ callId: call.callId, output }).withId(resultId));
    const data = { blockId: call.id, result, outcome: "ok", durationMs: 1, late: true } as const;
    await conversation[commit]([
      { event: { type: "ToolFinished", version: 1, data }, actor: { kind: "tool", name: "look-up" }, runId },
    ]);
    this.#of.tally.meanwhile += 1;
  }

  /** Its owner sees it within a moment, which the rest of the run waits for: else it were chance how far that gets. */
  async #askToEnd(conversation: Conversation, signal: AbortSignal): Promise<void> {
    const { run } = await conversation.at(-1);
    if (run === null) return;
    const data = { reason: "somebody had enough" };
    const event = { type: "RunCancelRequested", version: 1, data } as const;
    if ((await refusalOf(conversation[commit]([{ event, actor: { kind: "user" }, runId: run.id }]))) !== null) return;
    this.#mayEnd.add("run-cancelled");
    this.#of.tally.meanwhile += 1;
    if (!signal.aborted) await untilAborted(signal).catch(() => undefined);
  }

  /** A process elsewhere takes the run up, and dies. */
  async #take(conversation: Conversation): Promise<void> {
    const { run } = await conversation.at(-1);
    if (run === null) return;
    const owner = { processId: "prc_elsewhere", bootId: "b", host: "h", pid: 1, startedAt: "t", pidNamespace: "n" };
    let epoch = 0;
    for await (const { event, runId } of conversation.events())
      if (runId === run.id && event.type === "RunResumed") epoch = event.data.epoch;
    const taken = await refusalOf(
      conversation[commit]([
        {
          event: { type: "RunResumed", version: 1, data: { epoch: epoch + 1, owner, stack: [] } },
          actor: { kind: "recovery" },
          runId: run.id,
          frame: "0",
        },
      ]),
    );
    // It may have ended meanwhile: tools run side by side.
    if (taken !== null) return;
    this.#mayEnd.add("run-taken-over");
    this.#of.tally.taken += 1;
  }
}

/** Null where something was done; what else than a run that is not open refuses it is thrown. */
async function refusalOf(work: Promise<unknown>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (String(error).includes("run-not-open")) return "run-not-open";
    throw error;
  }
}
