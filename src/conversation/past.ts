import type { JsonObject } from "../base/json.ts";
import { notRead } from "../domain/block.ts";
import type { Decision } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Turn } from "../domain/turn.ts";
import { outlineOf, type TurnOutline } from "../domain/turn-outline.ts";
import { newRequest } from "../engine/planning/build-request.ts";
import { learnedCapabilities } from "../engine/planning/contexts.ts";
import { plan } from "../engine/planning/plan.ts";
import { type ChainPolicy, defaultChainPolicy, type Mode, type RecordedPolicy } from "../engine/stack/chain-policy.ts";
import type { Provider } from "../engine/stack/provider.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { existingRevision } from "../log/history/revision.ts";
import { readUnsent } from "../log/snapshots/contents.ts";
import { type Folded, type Follower, foldTo, foldWhole, turnOf } from "../log/snapshots/fold.ts";
import type { Blame } from "../projections/blame.ts";
import type { ConversationView } from "../projections/conversation-view.ts";
import type { ServerContext } from "../projections/server-contexts.ts";
import { type PastRun, pastRun, pastRunOutline } from "./past-run.ts";

/** The endpoint that a plan is for. */
export type PlannedEndpoint = Pick<
  Provider,
  "scope" | "codec" | "transport" | "capabilities" | "settings" | "systemAs"
>;

export type PlanOptions = {
  readonly settings?: JsonObject;
  readonly policy?: Partial<ChainPolicy> & { readonly mode?: Mode };
  readonly now?: string;
};

/**
 * A conversation at a revision (rule: Past revisions): every revision is legal, also in the middle of a run or an append. Of its blocks
 * it knows id, kind and digest, however long it is; `content()` and `load()` read what they say.
 */
export class PastConversation {
  readonly revision: number;
  /** The event of this revision. */
  readonly event: RecordedEvent;
  readonly #log: EventLog;
  readonly #folded: Folded;
  #turn: TurnOutline | undefined;

  constructor(log: EventLog, folded: Folded) {
    this.revision = folded.last.revision;
    this.event = folded.last;
    this.#log = log;
    this.#folded = folded;
  }

  /** The committed Turn and the blocks appended since, without contents; an open run does not change it. */
  get turn(): TurnOutline {
    this.#turn ??= outlineOf(this.#committed);
    return this.#turn;
  }

  /** The run that is open here, without contents: those of its Turns are in `load()`. */
  get run(): PastRun<TurnOutline> | null {
    const { run } = this.#folded.view.client;
    return run === null ? null : pastRunOutline(run, this.event.frame);
  }

  /** What servers held, in the order of the log. */
  get serverContexts(): readonly ServerContext[] {
    return this.#folded.view.server.contexts.all;
  }

  /** The decision of the request at this revision; null at other events. */
  get plan(): Decision | null {
    const { event } = this.event;
    return event.type === "InferenceRequested" ? event.data.decision : null;
  }

  /** The Turn with the contents of all its blocks: reads the events that hold them, and no others. */
  async content(): Promise<Turn> {
    return turnOf(this.#log, this.#committed, this.event);
  }

  /** All that the events up to here tell, from the first one on: contents, blame, and what planning compares. */
  async load(): Promise<LoadedPast> {
    const whole = this.#folded.isWhole ? this.#folded : await foldWhole(this.#log, this.event.stream, this.revision);
    return new LoadedPast(whole.last, whole.view);
  }

  /** How a request of the Turn would be sent from here. Reads what follows the newest context that servers hold of it. */
  async planFor(endpoint: PlannedEndpoint, options: PlanOptions = {}): Promise<Decision> {
    // What the instructions say has to be read, and every context is of what follows it.
    if (this.#folded.isWhole || endpoint.systemAs === "instructions")
      return (await this.load()).planFor(endpoint, options);
    try {
      await readUnsent(this.#log, this.#folded.fold, { turn: this.#committed, scope: endpoint.scope });
      return planAt(this.event, this.#folded.view, { ...options, endpoint });
    } catch {
      // Another anchor, or somebody to name for a divergence: that is asked of the whole.
      return (await this.load()).planFor(endpoint, options);
    }
  }

  /** Who made and changed a block, and who removed it; null for a block that never was. */
  async blame(blockId: string): Promise<Blame | null> {
    return (await this.load()).blame(blockId);
  }

  get #committed(): Turn {
    return this.#folded.view.client.committed;
  }
}

/** The same with everything at hand, and nothing to wait for. */
export class LoadedPast {
  readonly revision: number;
  /** The event of this revision. */
  readonly event: RecordedEvent;
  /** @internal The fold of its events. */
  readonly view: ConversationView;

  constructor(event: RecordedEvent, view: ConversationView) {
    this.revision = event.revision;
    this.event = event;
    this.view = view;
  }

  /** The committed Turn and the blocks appended since. */
  get turn(): Turn {
    return this.view.client.committed.frozen();
  }

  /** The run that is open here. */
  get run(): PastRun | null {
    const { run } = this.view.client;
    return run === null ? null : pastRun(run, this.event.frame);
  }

  get serverContexts(): readonly ServerContext[] {
    return this.view.server.contexts.all;
  }

  /** Who made and changed each block, and who removed it, by block id. */
  get blames(): ReadonlyMap<string, Blame> {
    return this.view.client.blame ?? notRead();
  }

  planFor(endpoint: PlannedEndpoint, options: PlanOptions = {}): Decision {
    return planAt(this.event, this.view, { ...options, endpoint });
  }

  blame(blockId: string): Blame | null {
    return this.blames.get(blockId) ?? null;
  }
}

/**
 * Reads a conversation as it was at a revision; a negative one counts from the end.
 *
 * @throws {TurnlogError} `revision-not-found` when there is no such revision.
 */
export async function readPast(log: EventLog, stream: string, revision: number): Promise<PastConversation> {
  return new PastConversation(log, await foldTo(log, stream, await existingRevision(log.store, stream, revision)));
}

/**
 * The same with everything at hand, in one reading: for callers that want other folds of the same events beside it. `follow` is
 * called when the reading begins, and again should it have to begin anew.
 *
 * @throws {TurnlogError} `revision-not-found` when there is no such revision.
 */
export async function loadPast(
  log: EventLog,
  stream: string,
  revision: number,
  follow: () => Follower = () => () => undefined,
): Promise<LoadedPast> {
  const folded = await foldWhole(log, stream, await existingRevision(log.store, stream, revision), { follow });
  return new LoadedPast(folded.last, folded.view);
}

function planAt(
  event: RecordedEvent,
  view: ConversationView,
  { endpoint, settings, policy, now }: PlanOptions & { readonly endpoint: PlannedEndpoint },
): Decision {
  const request = newRequest(view, view.client.committed, {
    endpoint,
    settings: (instructions) => endpoint.codec.instruct(settings ?? endpoint.settings, instructions),
    capabilities: learnedCapabilities(endpoint, view),
    policy: policyAt(view, policy),
    now: now ?? event.at,
  });
  return plan(request);
}

/** Otherwise as the open run has it. */
function policyAt(
  { client }: ConversationView,
  { require = false, ...policy }: NonNullable<PlanOptions["policy"]> = {},
) {
  const { require: _, ...recorded } = client.run?.started.chain ?? defaultChainPolicy;
  const given: RecordedPolicy = {
    ...recorded,
    ...policy,
    onSettingsChange: { ...recorded.onSettingsChange, ...policy.onSettingsChange },
  };
  return require ? { ...given, require: true as const } : given;
}
