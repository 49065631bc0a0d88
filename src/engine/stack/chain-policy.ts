import type { ConversationEventOf } from "../../domain/events/event.ts";

/** A policy as the log has it: modes are names. */
export type RecordedPolicy = ConversationEventOf<"RunStarted">["data"]["chain"];

/** How a caller wants requests to be chained. */
export type ChainPolicy = {
  readonly mode: "auto" | "never" | "require";
  /** What a refused chained request does: one full resend, or an error. */
  readonly onRefused: "fallback" | "throw";
  /**
   * Older responses are not continued from; servers forget after 30 days. Nor are those that are dated more than a minute
   * ahead of the clock.
   */
  readonly maxAgeMs: number;
  /** Whether a change of this setting still chains; a change of model with reasoning in the context never does unless said. */
  readonly onSettingsChange: Readonly<Record<string, "chain" | "full">>;
};

/** The policy when the caller says nothing. */
export const defaultChainPolicy: ChainPolicy = {
  mode: "auto",
  onRefused: "fallback",
  maxAgeMs: 29 * 24 * 60 * 60 * 1000,
  onSettingsChange: {},
};
