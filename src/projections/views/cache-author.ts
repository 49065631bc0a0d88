import type { Divergence } from "../../domain/events/inference-events.ts";

/** Who changed the part of a prompt at which a cache entry ended. */
export type CacheAuthor =
  | { readonly kind: "layer"; readonly name: string; readonly version: string }
  /** The program or its user: messages, tools' results, reverts, imports, skips. */
  | { readonly kind: "caller" }
  /** The engine, or the server, shortened the Turn. */
  | { readonly kind: "compaction" }
  /** An erasure: requests send a stand-in for the content since. */
  | { readonly kind: "erasure" }
  /** The settings of the request: instructions, tools, model and others. */
  | { readonly kind: "settings" }
  /** turnlog itself: a repair of the request, or a run that was cut off. */
  | { readonly kind: "engine" };

/** How a block differs from that of an earlier prompt. */
export type PromptDivergence = Omit<Divergence, "change"> & { readonly change: Divergence["change"] | "erased" };

/** The author of a change of a block; null if its actor is not known. */
export function cacheAuthorOf({ actor, change }: Pick<PromptDivergence, "actor" | "change">): CacheAuthor | null {
  if (change === "erased") return { kind: "erasure" };
  switch (actor?.kind) {
    case undefined:
      return null;
    case "middleware":
      return { kind: "layer", name: actor.name, version: actor.version };
    case "engine":
      // The engine edits and removes blocks only to shorten a Turn; what it adds are answers to open calls.
      return { kind: change === "inserted" || change === "moved" ? "engine" : "compaction" };
    case "recovery":
    case "provider":
      return { kind: "engine" };
    default:
      return { kind: "caller" };
  }
}
