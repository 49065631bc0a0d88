import type { Actor } from "../../domain/actor.ts";
import { type Block, idOf } from "../../domain/block.ts";
import { isAside } from "../../domain/frame.ts";
import type { BlockId, BlockName } from "../../domain/ids.ts";
import { Turn } from "../../domain/turn.ts";
import { placeChanges } from "../../domain/turn-difference.ts";
import { ConversationDamagedError } from "../damage.ts";
import { BlockVersions } from "./block-versions.ts";
import { KnownFrames } from "./known-frames.ts";
import { branchOf, contains, type RunSoFar, type TurnStep, unfinishedTurn } from "./run-branch.ts";
import { RunPasses } from "./run-passes.ts";

/** `given/<frame>`: what a frame received; `result/<frame>`: what it returned; `empty`: no blocks. */
export type TurnName = `given/${string}` | `result/${string}` | "empty";

/** The Turn from which another was made, and who made it. */
export type TurnDerivation = { readonly base: TurnName; readonly actor: Actor };

/**
 * The Turns of an open run: what every frame received and returned, and the Turn that would remain if the run ended now. The fold
 * fills it from events, and the engine while it runs, so that the journal and the run that wrote it cannot diverge.
 */
export class RunTurns {
  readonly passes: RunPasses;
  readonly #results = new Map<string, Turn>();
  readonly #frames: KnownFrames;
  readonly #steps: TurnStep[] = [];
  readonly #toolResults = new Map<BlockId, Block>();
  readonly #resultIds = new Set<BlockId>();
  readonly #startedTools = new Set<BlockId>();
  readonly #movers = new Map<BlockId, Actor>();
  /** The blocks that the engine removed when it replaced a Turn by a shorter one, and who did. */
  readonly #leftOut = new Map<TurnName, Map<BlockId, Actor>>();
  /** The base of every Turn that a layer passed on, and which of the base's blocks are missing. */
  readonly #origins = new Map<TurnName, TurnDerivation & { readonly removed: readonly BlockId[] }>();
  /** The blocks that each pass removed, oldest first, for passes whose place in the log was not yet recorded with them. */
  readonly #removed: (readonly BlockId[])[] = [];
  /** How many passes were asked for before those. */
  #placed = 0;
  #newest: TurnName = "given/0";

  constructor(base: Turn, frames = new KnownFrames(), passes = new RunPasses(base, new BlockVersions())) {
    this.#frames = frames;
    this.passes = passes;
  }

  /** Turns and blocks are immutable, so the copy shares them. */
  copy(): RunTurns {
    const copy = new RunTurns(this.base, this.#frames.copy(), this.passes.copy());
    addAll(copy.#results, this.#results);
    addAll(copy.#toolResults, this.#toolResults);
    addAll(copy.#movers, this.#movers);
    addAll(copy.#leftOut, this.#leftOut);
    addAll(copy.#origins, this.#origins);
    for (const id of this.#resultIds) copy.#resultIds.add(id);
    for (const id of this.#startedTools) copy.#startedTools.add(id);
    for (const step of this.#steps) copy.#steps.push({ ...step });
    copy.#removed.push(...this.#removed);
    copy.#placed = this.#placed;
    copy.#newest = this.#newest;
    return copy;
  }

  /** The Turn that the run started from. */
  get base(): Turn {
    return this.passes.base;
  }

  get #versions(): BlockVersions {
    return this.passes.versions;
  }

  /** The Turn that the run continues with: of the latest request, or of the latest result. */
  get newest(): TurnName {
    return this.#newest;
  }

  /** A layer made a Turn from an earlier one and passed it on, to a frame or as a frame's result. */
  handOn(name: TurnName, turn: Turn, { base, actor }: TurnDerivation): void {
    if (isAside(frameOf(name))) {
      // An aside removes nothing from the conversation.
      this.passes.setGiven(frameOf(name), turn);
      return;
    }
    const changes = placeChanges(this.get(base), turn);
    const removed = changes.removed.map(idOf);
    for (const id of removed) this.passes.noteRemoval(id, actor);
    for (const { block, isMove } of changes.placed) if (isMove) this.#movers.set(idOf(block), actor);
    if (base === name) {
      this.#leftOut.set(
        name,
        new Map([...(this.#leftOut.get(name) ?? []), ...removed.map((id) => [id, actor] as const)]),
      );
      const settled = this.#settled(name);
      if (settled !== null && settled !== name) this.#origins.set(name, { base: settled, actor, removed });
    } else this.#origins.set(name, { base, actor, removed });
    const frame = frameOf(name);
    this.#frames.see(frame);
    this.#newest = name;
    if (name.startsWith("given/")) this.passes.setGiven(frame, turn);
    else this.#results.set(frame, turn);
    this.#removed.push(removed);
  }

  /** The blocks that the oldest remaining pass removed: its event now has a place in the log. */
  takeRemoved(): readonly BlockId[] {
    this.#placed += 1;
    return this.#removed.shift() ?? [];
  }

  /** Goes on from Turns that were made of the log, all of which was applied to these as well: the passes there have their places. */
  goOnFrom(logged: RunTurns): void {
    this.#removed.splice(0, logged.#placed);
    this.#placed = logged.#placed;
  }

  /** The Turn of that name; an idle pass wrote nothing, and hands on what it got. */
  get(name: TurnName): Turn {
    if (name === "empty") return Turn.empty;
    const turn = name.startsWith("given/") ? this.given(frameOf(name)) : this.result(frameOf(name));
    if (turn === null) throw new ConversationDamagedError(`there is no Turn ${name} in this run`, null);
    return turn;
  }

  given(frame: string): Turn {
    return this.passes.given(frame);
  }

  result(frame: string): Turn | null {
    return this.#results.get(this.#resultFrame(frame) ?? "") ?? null;
  }

  /** The name under which a Turn was first passed on, without idle passes. Null for the base. */
  #settled(name: TurnName): TurnName | null {
    const isResult = name.startsWith("result/");
    const at = isResult ? this.#resultFrame(frameOf(name)) : this.passes.givenFrame(frameOf(name));
    return at === null ? null : `${isResult ? "result" : "given"}/${at}`;
  }

  /** The frame whose own result this frame returned, too: that of its last call, and so on. */
  #resultFrame(frame: string): string | null {
    for (let at = frame; ; ) {
      if (this.#results.has(at)) return at;
      const calls = this.#frames.calls(at);
      if (calls === 0) return null;
      at = `${at}.${calls - 1}`;
    }
  }

  /** The newest Turn at a frame: its result, or what it received. */
  working(frame: string): Turn {
    return this.#results.get(frame) ?? this.given(frame);
  }

  /** A version of a block that an edit can refer to: made in this run, or in the Turn that the run started from. */
  version(id: BlockId, name: BlockName): Block | null {
    const made = this.#versions.get(id, name);
    if (made !== null) return made;
    const block = this.base.find(id);
    return block?.recordedAs === name ? block : null;
  }

  /** Records a new version of a block. */
  addVersion(block: Block, author: Actor): void {
    this.#versions.add(block, author);
  }

  /** The call with this id, if a response of this run made it. */
  ownCall(id: BlockId): Block | null {
    const made = this.#versions.made(id);
    return made?.author.kind === "provider" && made.block.kind === "tool_call" ? made.block : null;
  }

  /** The author of this version, if it was made in this run. */
  authorOf(block: Block): Actor | null {
    return this.passes.authorOf(block);
  }

  /** The blocks removed on the way to a Turn, also if they were restored, and who did it last. */
  removalsBefore(name: TurnName): ReadonlyMap<BlockId, Actor> {
    const removals = new Map<BlockId, Actor>();
    for (let at = this.#settled(name); at !== null; ) {
      for (const [id, actor] of this.#leftOut.get(at) ?? []) if (!removals.has(id)) removals.set(id, actor);
      const origin = this.#origins.get(at);
      // The core makes a result from the Turn it received, and removes nothing.
      const base = this.#settled(origin?.base ?? `given/${frameOf(at)}`);
      if (origin !== undefined) {
        for (const id of origin.removed) if (!removals.has(id)) removals.set(id, origin.actor);
      }
      at = base === at ? null : base;
    }
    return removals;
  }

  /** Blocks removed in this run, also if they were restored, and who did it last. */
  get removals(): ReadonlyMap<BlockId, Actor> {
    return this.passes.removals;
  }

  /** Who last removed a block in this run. */
  removerOf(id: BlockId): Actor | null {
    return this.passes.removerOf(id);
  }

  /** Who last moved a block in this run. */
  moverOf(id: BlockId): Actor | null {
    return this.#movers.get(id) ?? null;
  }

  /** A frame of the core sends a request, with the Turn that the frame received. */
  request(frame: string): Turn {
    if (isAside(frame)) return this.given(frame);
    this.#frames.see(frame);
    this.#newest = `given/${frame}`;
    const outgoing = this.given(frame);
    for (const step of this.#steps) step.isKept ||= contains(outgoing, step);
    return outgoing;
  }

  /** A frame of the core received a response; `output` are the blocks that enter the Turn. */
  respond(frame: string, output: readonly Block[], author: Actor): Turn {
    if (isAside(frame)) return this.given(frame).append(...output);
    for (const block of output) this.addVersion(block, author);
    const result = this.given(frame).append(...output);
    this.#results.set(frame, result);
    this.#newest = `result/${frame}`;
    this.#steps.push({ author, result, output, isKept: false });
    return result;
  }

  /** The Turn after the response to a request. */
  response(inferenceId: string): Turn | null {
    const isOf = ({ author }: TurnStep): boolean => author.kind === "provider" && author.inferenceId === inferenceId;
    return this.#steps.findLast(isOf)?.result ?? null;
  }

  startTool(callId: BlockId): void {
    this.#startedTools.add(callId);
    this.keepCall(callId);
  }

  /** The step that made this call counts: the call has begun, or somebody outside of the run knows of it. */
  keepCall(callId: BlockId): void {
    const step = this.#steps.findLast((candidate) => candidate.output.some((block) => block.id === callId));
    if (step !== undefined) step.isKept = true;
  }

  finishTool(callId: BlockId, result: Block, author: Actor): void {
    this.#toolResults.set(callId, result);
    this.#resultIds.add(idOf(result));
    this.addVersion(result, author);
  }

  toolResult(callId: BlockId): Block | null {
    return this.#toolResults.get(callId) ?? null;
  }

  /** Whether a tool of this run has started, or a call of one was answered without that. */
  get hasCalledTools(): boolean {
    return this.#startedTools.size > 0 || this.#toolResults.size > 0;
  }

  isToolStarted(callId: BlockId): boolean {
    return this.#startedTools.has(callId);
  }

  /** Calls without an answer in `unfinishedTurn`: the end of the run has to answer them. */
  get openCalls(): readonly Block[] {
    return branchOf(this.#soFar).filter((block) => block.kind === "tool_call" && !this.#toolResults.has(idOf(block)));
  }

  /** Tools that ran in branches that are not part of `unfinishedTurn`. */
  get discardedTools(): readonly BlockId[] {
    const kept = new Set(branchOf(this.#soFar).map(idOf));
    return [...this.#startedTools].filter((id) => !kept.has(id));
  }

  /** The Turn when the run does not complete; `closing` are the results that the end of the run brings. */
  unfinishedTurn(closing: ReadonlyMap<BlockId, Block> = new Map()): Turn {
    return unfinishedTurn(this.#soFar, closing);
  }

  get #soFar(): RunSoFar {
    const own = { steps: this.#steps, results: this.#results, versions: this.#versions };
    return { base: this.base, ...own, toolResults: this.#toolResults, resultIds: this.#resultIds };
  }
}

function addAll<Key, Value>(to: Map<Key, Value>, from: ReadonlyMap<Key, Value>): void {
  for (const [key, value] of from) to.set(key, value);
}

const frameOf = (name: TurnName): string => name.slice(name.indexOf("/") + 1);
