import type { JsonObject } from "../base/json.ts";
import type { Decision } from "../domain/events/inference-events.ts";
import type { RecordedEvent } from "../domain/events/recorded.ts";
import type { Turn } from "../domain/turn.ts";
import { type Blame, lastChange } from "../projections/blame.ts";
import { blameOf, type OpenRun } from "../projections/client-turn.ts";
import { type ConversationView, conversationView } from "../projections/conversation-view.ts";
import type { ServerContext } from "../projections/server-contexts.ts";
import type { EventLog } from "./codec/event-log.ts";
import { type ChainPolicy, defaultChainPolicy, plan } from "./planner/plan.ts";
import type { Provider } from "./provider.ts";
import { readRecorded } from "./recorded.ts";
import { contextsOf, learnedCapabilities } from "./run/contexts.ts";
import { settingsDigest } from "./run/settings.ts";

/** There is no such revision. */
export class RevisionNotFoundError extends Error {
  override readonly name = "RevisionNotFoundError";
  readonly code = "revision-not-found";
}

/** A conversation at a revision (MODEL 12): every revision is legal, also in the middle of a run or an append. */
export class PastConversation {
  readonly revision: number;
  /** The event of this revision. */
  readonly event: RecordedEvent;
  readonly view: ConversationView;

  constructor(event: RecordedEvent, view: ConversationView) {
    this.revision = event.revision;
    this.event = event;
    this.view = view;
  }

  /** The committed Turn and the blocks appended since; an open run does not change it. */
  get turn(): Turn {
    return this.view.client.committed;
  }

  /** The run that is open here. */
  get run(): OpenRun | null {
    return this.view.client.run;
  }

  /** What servers held, in the order of the log. */
  get serverContexts(): readonly ServerContext[] {
    return this.view.server.all;
  }

  /** The decision of the request at this revision; null at other events. */
  get plan(): Decision | null {
    const { event } = this.event;
    return event.type === "InferenceRequested" ? event.data.decision : null;
  }

  /** How a request of the Turn would be sent from here. */
  planFor(
    provider: Pick<Provider, "scope" | "codec" | "capabilities" | "settings">,
    options: { readonly settings?: JsonObject; readonly policy?: Partial<ChainPolicy>; readonly now?: string } = {},
  ): Decision {
    const settings = options.settings ?? provider.settings;
    const { blame } = this.view.client;
    return plan({
      turn: this.turn,
      contexts: contextsOf(this.view),
      provenance: {
        authorOf: (block) => lastChange(blame, block)?.actor ?? null,
        removerOf: (id) => blame.get(id)?.removed?.actor ?? null,
      },
      scope: provider.scope,
      codec: provider.codec,
      capabilities: learnedCapabilities(provider, this.view),
      settings,
      settingsDigest: settingsDigest(settings),
      policy: { ...defaultChainPolicy, ...options.policy },
      now: options.now ?? this.event.at,
    });
  }

  /** Who made and changed a block, and who removed it; null for a block that never was. */
  blame(blockId: string): Blame | null {
    return blameOf(this.view.client, blockId);
  }
}

/**
 * Reads a conversation as it was at a revision; a negative one counts from the end.
 *
 * @throws {RevisionNotFoundError} when there is no such revision.
 */
export async function readPast(log: EventLog, stream: string, revision: number): Promise<PastConversation> {
  const head = await log.store.head(stream);
  const wanted = revision < 0 ? (head?.revision ?? -1) + 1 + revision : revision;
  if (head === null || wanted < 0 || wanted > head.revision) {
    const range = head === null ? "it has no events" : `it has the revisions 0 to ${head.revision}`;
    throw new RevisionNotFoundError(`there is no revision ${revision} of ${stream}: ${range}`);
  }
  let view = conversationView.initial(stream);
  let last: RecordedEvent | null = null;
  for await (const stored of log.read(stream, { to: wanted, blobs: "resolve" })) {
    last = readRecorded(stored);
    view = conversationView.apply(view, last);
  }
  if (last === null) throw new RevisionNotFoundError(`revision ${wanted} of ${stream} cannot be read`);
  return new PastConversation(last, view);
}
