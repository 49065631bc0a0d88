import type { JsonObject } from "../../base/json.ts";
import type { AnchorId } from "../../domain/anchor.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Invalidation, ServerContext, ServerObject } from "../../projections/server-contexts.ts";
import type { RecordedPolicy } from "../stack/chain-policy.ts";
import type { Capabilities, Codec } from "../stack/codec.ts";
import type { Provider, RequestConnection } from "../stack/provider.ts";
import type { Provenance } from "./divergence.ts";

/** What is known of the servers' contexts. */
export type ContextLookup = {
  /** Those that can be named. */
  readonly byTurn: (digest: string) => readonly ServerContext[];
  /** Also those that nothing names, of endpoints that keep nothing: what was counted of them is known. */
  readonly ofTurn: (digest: string) => readonly ServerContext[];
  /** What was asked under this id, once it was answered. */
  readonly ofInference: (inferenceId: string) => ServerContext | null;
  /** The object of an endpoint that this conversation goes on in. */
  readonly object: (scope: string) => ServerObject | null;
  /** Whether items of an object were deleted, or may be by others. */
  readonly isCut: (object: { readonly scope: string; readonly anchor: AnchorId }) => boolean;
  /** Why what is continued once is not continued from a context; null where it can be. */
  readonly usedUp: (context: ServerContext) => UsedUp | null;
  /** The newest response of a scope that has an id, and its context as a Turn where that is at hand. */
  readonly newest: (scope: string) => { readonly context: ServerContext; readonly turn: Turn | null } | null;
  readonly invalidation: (context: ServerContext) => Invalidation | null;
  readonly settings: (digest: string) => JsonObject;
  readonly quarantined: ReadonlySet<string>;
};

/**
 * Why an anchor that can be continued once is not: a request continued it (`continued`), a request that was never answered may have
 * (`maybe-continued`), or only the conversation that this one was forked from may (`inherited`).
 */
export type UsedUp = "continued" | "maybe-continued" | "inherited";

/** A request as it is to be planned, and all that a body is made of but the decision. */
export type PlanRequest = {
  /** What the input is made of. */
  readonly turn: Turn;
  readonly contexts: ContextLookup;
  readonly provenance: Provenance;
  readonly scope: string;
  readonly codec: Codec;
  readonly transport: Provider["transport"];
  /** The connection that it goes out on, where that is open; and what the body says of it. */
  readonly connection?: Pick<RequestConnection, "lives" | "details"> | undefined;
  readonly capabilities: Capabilities;
  readonly settings: JsonObject;
  readonly settingsDigest: string;
  readonly policy: RecordedPolicy;
  /** ISO time that anchors' ages are judged by. */
  readonly now: string;
  /** Forces a full request, and says why. */
  readonly full?: FullReason;
  /** `newest`: the newest response is the only candidate, as clients that remember one id have it. */
  readonly candidates?: "all" | "newest";
};

/** Why a request is not chained from the newest context, by name. */
export type FullReason = string;
