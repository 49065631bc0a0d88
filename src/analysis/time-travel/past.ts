import type { JsonObject } from "../../base/json.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import { isRequest } from "../../domain/events/event.ts";
import type { Decision } from "../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { notRead } from "../../domain/not-read.ts";
import type { Turn } from "../../domain/turn.ts";
import { outlineOf, type TurnOutline } from "../../domain/turn-outline.ts";
import {
  type ChainPolicy,
  defaultChainPolicy,
  type Mode,
  type RecordedPolicy,
} from "../../engine/options/chain-policy.ts";
import { newRequest } from "../../engine/planning/build-request.ts";
import { learnedCapabilities } from "../../engine/planning/contexts.ts";
import { plan } from "../../engine/planning/plan.ts";
import type { PlanRequest } from "../../engine/planning/plan-request.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { type Codecs, codecOf, requestOf } from "../../engine/recorded/recorded-request.ts";
import { foldWhole } from "../../log/aggregate/fold.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { namesOf } from "../../log/codec/stream-names.ts";
import { existingRevision } from "../../log/history/revision.ts";
import { readUnsent } from "../../log/snapshots/contents.ts";
import { type FoldedTo, foldTo, turnOf } from "../../log/snapshots/open.ts";
import type { Blame } from "../../projections/client-turn/blame.ts";
import { declaredSettingsOf, type ServerContext } from "../../projections/server-contexts/server-contexts.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
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
 * A conversation at a revision (rule: Past revisions): every revision is legal, also in the middle of a run or an append. It knows id,
 * kind and digest of its blocks, however long it is; `content()` and `load()` read their contents.
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

  /** The contexts that servers held, in the order of the log. */
  get serverContexts(): readonly ServerContext[] {
    return this.#folded.view.server.contexts.all;
  }

  /** The decision of the request at this revision; null at other events. */
  get plan(): Decision | null {
    const { event } = this.event;
    return isRequest(event) ? event.data.decision : null;
  }

  /** The Turn with the contents of all its blocks: reads only the events that hold them. */
  async content(): Promise<Turn> {
    return turnOf(this.#log, this.#committed, this.event);
  }

  /** Reads everything from the first event up to here: contents, blame, and what planning compares. */
  async load(): Promise<LoadedPast> {
    const whole = this.#folded.isWhole ? this.#folded : await foldWhole(this.#log, this.event.stream, this.revision);
    return new LoadedPast(whole.last, whole.view, await this.#names());
  }

  /** How a request of the Turn would be sent from here. Reads the events after the newest context of it that servers hold. */
  async planFor(endpoint: PlannedEndpoint, options: PlanOptions = {}): Promise<Decision> {
    // The instructions' texts have to be read, and every context depends on what follows them.
    if (this.#folded.isWhole || endpoint.systemAs === "instructions")
      return (await this.load()).planFor(endpoint, options);
    try {
      await readUnsent(this.#log, this.#folded.fold, { turn: this.#committed, scope: endpoint.scope });
      return planAt(this.event, this.#folded.view, { ...options, endpoint, names: await this.#names() });
    } catch {
      // Another anchor, or a divergence that needs an author: answer from the whole log.
      return (await this.load()).planFor(endpoint, options);
    }
  }

  /** Who made and changed a block, and who removed it; null if the block never existed. */
  async blame(blockId: string): Promise<Blame | null> {
    return (await this.load()).blame(blockId);
  }

  /**
   * What would happen to the Turn's reasoning if it were sent from here: whether its prefix is unchanged, who changed it, and what the
   * endpoint does then. For a request that was sent, use `conversation.reasoning(revision)`.
   *
   *     const { blocks } = await past.reasoning();
   *     for (const { index, fate, brokenBy } of blocks) console.log(index, fate, brokenBy[0]?.actor);
   *
   * @param endpoint - By default the one that was asked last, with its settings at that time.
   * @throws {TurnlogError} `request-not-found` without an endpoint, if nothing was asked up to here.
   * @throws {TurnlogError} `unknown-codec` if another provider's codec wrote the last request: pass it in `openStore(url, { codecs })`.
   */
  async reasoning(endpoint?: PlannedEndpoint, options: PlanOptions = {}): Promise<ReasoningForecast> {
    const read = trailReader();
    const { view } = await foldWhole(this.#log, this.event.stream, this.revision, read.follow);
    const trail = read.trail();
    const names = await this.#names();
    const request =
      endpoint === undefined
        ? requestLikeLast(this.event, view, {
            last: trail.last ?? nothingAsked(this.revision),
            names,
            codecs: this.#codecs,
          })
        : requestAt(this.event, view, { ...options, endpoint, names });
    return forecast(trail, view.server, { request, decision: plan(request), outgoing: view.client.committed });
  }

  /** Those of the conversation, of which settings have one too. */
  #names(): BlockNames | Promise<BlockNames> {
    return namesOf(this.#log.store, this.event.stream);
  }

  get #committed(): Turn {
    return this.#folded.view.client.committed;
  }
}

/** The same with all contents loaded, and without awaiting. */
export class LoadedPast {
  readonly revision: number;
  /** The event of this revision. */
  readonly event: RecordedEvent;
  /** @internal The fold of its events. */
  readonly view: ConversationView;
  readonly #names: BlockNames;

  constructor(event: RecordedEvent, view: ConversationView, names: BlockNames) {
    this.revision = event.revision;
    this.event = event;
    this.view = view;
    this.#names = names;
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
    return planAt(this.event, this.view, { ...options, endpoint, names: this.#names });
  }

  blame(blockId: string): Blame | null {
    return this.blames.get(blockId) ?? null;
  }
}

/**
 * Reads a conversation as it was at a revision; a negative one counts from the end.
 *
 * @throws {TurnlogError} `revision-not-found` if there is no such revision.
 */
export async function readPast(
  log: EventLog,
  stream: string,
  { revision, codecs = new Map() }: { readonly revision: number; readonly codecs?: Codecs },
): Promise<PastConversation> {
  const existing = await existingRevision(log.store, stream, revision);
  return new PastConversation(log, await foldTo(log, stream, existing), codecs);
}

type Planned = PlanOptions & { readonly endpoint: PlannedEndpoint; readonly names: BlockNames };

const planAt = (event: RecordedEvent, view: ConversationView, planned: Planned): Decision =>
  plan(requestAt(event, view, planned));

function requestAt(
  event: RecordedEvent,
  view: ConversationView,
  { endpoint, names, settings, policy, now }: Planned,
): PlanRequest {
  return newRequest(view, view.client.committed, {
    ...{ endpoint, names },
    settings: (instructions) => endpoint.codec.instruct(settings ?? endpoint.settings, instructions),
    capabilities: learnedCapabilities(endpoint, view),
    policy: policyAt(view, policy),
    now: now ?? event.at,
  });
}

/** A request of the Turn with the settings of the last one. */
function requestLikeLast(
  event: RecordedEvent,
  view: ConversationView,
  { last, names, codecs }: { readonly last: RecordedEvent; readonly names: BlockNames; readonly codecs: Codecs },
): PlanRequest {
  const request = requestOf(last);
  const { scope, decision, input, settingsDigest } = request;
  const systemAs = input.outgoing === undefined ? "input" : "instructions";
  const { transport, capabilities } = decision;
  return newRequest(view, view.client.committed, {
    endpoint: { scope, codec: codecOf(request, codecs), transport, systemAs },
    settings: () => declaredSettingsOf(view.server, settingsDigest),
    ...{ names, capabilities, now: event.at },
  });
}

/** By default the policy of the open run. */
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
