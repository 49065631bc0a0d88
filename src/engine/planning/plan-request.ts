import type { JsonObject } from "../../base/json.ts";
import type { AnchorId } from "../../domain/anchor.ts";
import type { SettingsName } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Invalidation, ServerContext, ServerObject } from "../../projections/server-contexts/server-contexts.ts";
import type { RecordedPolicy } from "../options/chain-policy.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Codec } from "../ports/codec.ts";
import type { Provider, RequestConnection } from "../ports/provider.ts";
import type { Provenance } from "./divergence.ts";

/** The known contexts of servers. */
export type ContextLookup = {
  /** Contexts that a request can name. */
  readonly byTurn: (digest: string) => readonly ServerContext[];
  /** Also contexts that no request can name, of endpoints that store nothing, for their token counts. */
  readonly ofTurn: (digest: string) => readonly ServerContext[];
  /** The context of the answered request with this id. */
  readonly ofInference: (inferenceId: string) => ServerContext | null;
  /** The conversation object of an endpoint that this conversation uses. */
  readonly object: (scope: string) => ServerObject | null;
  /** Whether items of an object were deleted, or may have been deleted by others. */
  readonly isCut: (object: { readonly scope: string; readonly anchor: AnchorId }) => boolean;
  /** Why an anchor that can be continued once may not be continued from a context; null if it may. */
  readonly usedUp: (context: ServerContext) => UsedUp | null;
  /** The newest response of a scope that has an id, and its context as a Turn if that is available. */
  readonly newest: (scope: string) => { readonly context: ServerContext; readonly turn: Turn | null } | null;
  /** The newest response of a scope, also one that no request can continue from. */
  readonly latest: (scope: string) => ServerContext | null;
  readonly invalidation: (context: ServerContext) => Invalidation | null;
  readonly settings: (digest: string) => JsonObject;
  /** Whether settings have lost members to an erasure. */
  readonly hasErasedSettings: (digest: string) => boolean;
  readonly quarantined: ReadonlySet<string>;
};

/**
 * Why an anchor that can be continued once is not: a request continued it (`continued`), an unanswered request may have
 * (`maybe-continued`), or only the parent of this fork may (`inherited`).
 */
export type UsedUp = "continued" | "maybe-continued" | "inherited";

/** A request to plan, with everything that its body is made from except the decision. */
export type PlanRequest = {
  /** What the input is made from. */
  readonly turn: Turn;
  readonly contexts: ContextLookup;
  readonly provenance: Provenance;
  readonly scope: string;
  readonly codec: Codec;
  readonly transport: Provider["transport"];
  /** The open connection that it uses, if any, and what the body says about it. */
  readonly connection?: Pick<RequestConnection, "lives" | "details"> | undefined;
  readonly capabilities: Capabilities;
  readonly settings: JsonObject;
  readonly settingsDigest: SettingsName;
  readonly policy: RecordedPolicy;
  /** The ISO time by which the age of anchors is judged. */
  readonly now: string;
  /** Forces a full request, with this reason. */
  readonly full?: FullReason;
  /** `newest`: only the newest response is a candidate, as for clients that remember a single id. */
  readonly candidates?: "all" | "newest";
};

/** Why a request is not chained from the newest context, by name. */
export type FullReason = string;
