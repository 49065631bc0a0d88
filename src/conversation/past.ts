import type { JsonObject } from "../base/json.ts";
import { notRead } from "../domain/block.ts";
import { isRequest } from "../domain/events/event.ts";
import type { Decision } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Turn } from "../domain/turn.ts";
import { outlineOf, type TurnOutline } from "../domain/turn-outline.ts";
import { newRequest } from "../engine/planning/build-request.ts";
import { learnedCapabilities } from "../engine/planning/contexts.ts";
import { plan } from "../engine/planning/plan.ts";
import type { PlanRequest } from "../engine/planning/plan-request.ts";
import { type Codecs, codecOf, requestOf } from "../engine/planning/recorded-request.ts";
import { type ChainPolicy, defaultChainPolicy, type Mode, type RecordedPolicy } from "../engine/stack/chain-policy.ts";
import type { Provider } from "../engine/stack/provider.ts";
import type { EventLog } from "../log/codec/event-log.ts";
import { foldWhole } from "../log/fold/fold.ts";
import { existingRevision } from "../log/history/revision.ts";
import { readUnsent } from "../log/snapshots/contents.ts";
import { type FoldedTo, foldTo, turnOf } from "../log/snapshots/open.ts";
import type { Blame } from "../projections/blame.ts";
import type { ConversationView } from "../projections/conversation-view.ts";
import { type ServerContext, settingsOf } from "../projections/server-contexts.ts";
import { type PastRun, pastRun, pastRunOutline } from "./past-run.ts";
import { forecast, nothingAsked, type ReasoningForecast, trailReader } from "./reasoning-forecast.ts";

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
  readonly #folded: FoldedTo;
  readonly #codecs: Codecs;
  #turn: TurnOutline | undefined;

  constructor(log: EventLog, folded: FoldedTo, codecs: Codecs) {
    this.revision = folded.last.revision;
    this.event = folded.last;
    this.#log = log;
    this.#folded = folded;
    this.#codecs = codecs;
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
    return isRequest(event) ? event.data.decision : null;
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

  /**
   * What would become of the Turn's reasoning if it were sent from here: whether what it was made from stands before it still, who
   * broke that, and what the endpoint does with it. Of a request that was sent, `conversation.reasoning(revision)` tells that.
   *
   *     const { blocks } = await past.reasoning();
   *     for (const { index, fate, brokenBy } of blocks) console.log(index, fate, brokenBy[0]?.actor);
   *
   * @param endpoint - By default the one that was asked last, with the settings of then.
   * @throws {TurnlogError} `request-not-found` without an endpoint, where nothing was asked up to here.
   * @throws {TurnlogError} `unknown-codec` when another provider's codec wrote the last request: give it as `openStore(url, { codecs })`.
   */
  async reasoning(endpoint?: PlannedEndpoint, options: PlanOptions = {}): Promise<ReasoningForecast> {
    const read = trailReader();
    const { view } = await foldWhole(this.#log, this.event.stream, this.revision, read.follow);
    const trail = read.trail();
    const request =
      endpoint === undefined
        ? requestLikeLast(this.event, view, { last: trail.last ?? nothingAsked(this.revision), codecs: this.#codecs })
        : requestAt(this.event, view, { ...options, endpoint });
    return forecast(trail, view.server, { request, decision: plan(request), outgoing: view.client.committed });
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
export async function readPast(
  log: EventLog,
  stream: string,
  { revision, codecs = new Map() }: { readonly revision: number; readonly codecs?: Codecs },
): Promise<PastConversation> {
  const existing = await existingRevision(log.store, stream, revision);
  return new PastConversation(log, await foldTo(log, stream, existing), codecs);
}

type Planned = PlanOptions & { readonly endpoint: PlannedEndpoint };

const planAt = (event: RecordedEvent, view: ConversationView, planned: Planned): Decision =>
  plan(requestAt(event, view, planned));

function requestAt(
  event: RecordedEvent,
  view: ConversationView,
  { endpoint, settings, policy, now }: Planned,
): PlanRequest {
  return newRequest(view, view.client.committed, {
    endpoint,
    settings: (instructions) => endpoint.codec.instruct(settings ?? endpoint.settings, instructions),
    capabilities: learnedCapabilities(endpoint, view),
    policy: policyAt(view, policy),
    now: now ?? event.at,
  });
}

/** The request of the Turn as the last one before it was asked. */
function requestLikeLast(
  event: RecordedEvent,
  view: ConversationView,
  { last, codecs }: { readonly last: RecordedEvent; readonly codecs: Codecs },
): PlanRequest {
  const request = requestOf(last);
  const { scope, decision, input, settingsDigest } = request;
  const systemAs = input.outgoing === undefined ? "input" : "instructions";
  const { transport, capabilities } = decision;
  return newRequest(view, view.client.committed, {
    endpoint: { scope, codec: codecOf(request, codecs), transport, systemAs },
    settings: () => settingsOf(view.server, settingsDigest),
    ...{ capabilities, now: event.at },
  });
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
