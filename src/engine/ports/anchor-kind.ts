import type { JsonObject } from "../../base/json.ts";
import type { Anchor } from "../../domain/anchor.ts";
import type { Block } from "../../domain/block.ts";

/** What requests may do with anchors of one kind. By default an anchor may be continued any number of times, for ever. */
export type AnchorKind = {
  /**
   * The anchor is not a branch point: it can be continued once, whether the server gives the next state a new id (a message of a
   * thread) or keeps one id for its current state (a session). So a request with an unknown outcome uses it up, and a fork never
   * continues from an anchor that its parent may.
   */
  readonly isLinear?: true;
  /** An object with calls of its own to create, trim and delete it: mode `conversation` keeps it equal to the Turn, at any age. */
  readonly isObject?: true;
  /** How long the anchor of an answer to a request with these settings may be continued. */
  readonly keptMs?: (settings: JsonObject) => number;
  /** Whether a setting must equal the one that the anchor was made with, because a request that continues from it cannot change it. */
  readonly mustEqual?: (setting: string) => boolean;
  /** Whether a request that continues from it can carry this block; a full request can carry every block. */
  readonly takes?: (block: Block) => boolean;
};

/** The codec's description of a kind of anchors; undefined for an unknown kind. */
export const anchorKind = (
  { anchors }: { readonly anchors: Readonly<Record<string, AnchorKind>> },
  { kind }: Pick<Anchor, "kind">,
): AnchorKind | undefined => (Object.hasOwn(anchors, kind) ? anchors[kind] : undefined);
