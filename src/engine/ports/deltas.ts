import type { ConversationId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ItemKind } from "./provider.ts";

/** Changes the text of one item for those who watch the run, while the item arrives. */
export type DeltaFilter = {
  /** Takes the next piece of the text. Returns the text to show now; an empty one holds it back. */
  take(text: string): string;
  /** The item is complete: returns what was held back. An attempt that is discarded has no end. */
  end?(): string;
};

/** The item whose text a filter gets. */
export type ShownItem = {
  readonly kind: ItemKind;
  /** Of a call, if its wire sends them before its arguments. */
  readonly callId?: string;
  readonly name?: string;
};

/** Where an item belongs, for a layer that derives what it shows from the conversation. */
export type DeltaContext<Context = unknown> = {
  /** The `context` that the caller of the run gave, or undefined. */
  readonly context: Context;
  readonly conversationId: ConversationId;
  readonly runId: string;
  /** The call of the layer. */
  readonly frame: string;
  /** The Turn that the layer was called with: the client's form of what the item follows. */
  readonly given: Turn;
};

/** Makes the filter of an item; null shows it as it comes. It is called anew for each attempt, and for the complete block. */
export type DeltaRule<Context = unknown> = (item: ShownItem, ctx: DeltaContext<Context>) => DeltaFilter | null;

/** A layer's rule at a call of the layer. */
export type RuleOfCall = { readonly layer: string; readonly rule: DeltaRule; readonly ctx: DeltaContext };
