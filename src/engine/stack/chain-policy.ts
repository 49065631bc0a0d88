import type { ConversationEventOf } from "../../domain/events/event.ts";

/** How a run's requests reach the model, as the log has it: names. */
export type RecordedPolicy = ConversationEventOf<"RunStarted">["data"]["chain"];

/**
 * Who holds the conversation between two requests, and what a request sends of it.
 *
 * - `chained`: the server keeps responses; a request continues from the newest one that is still a beginning of the Turn.
 * - `stateless`: nobody but the log; every request carries the whole Turn and has the server keep nothing.
 * - `conversation`: a conversation object at the server, which is kept equal to the Turn.
 * - `auto`: one of these for each run, by what the endpoint can do and what the layers have done so far.
 */
export type Mode = (typeof modes)[number];

export const modes = ["chained", "stateless", "conversation", "auto"] as const;

/** How a caller wants requests to be chained, whatever the mode. */
export type ChainPolicy = {
  /** Refuses to send a request that cannot be chained, but for the first one. */
  readonly require?: boolean;
  /** What a refused chained request does: one full resend, or an error. */
  readonly onRefused: "fallback" | "throw";
  /**
   * Older responses are not continued from; servers forget after 30 days. Nor are those that are dated more than a minute
   * ahead of the clock. Conversation objects do not age.
   */
  readonly maxAgeMs: number;
  /** Whether a change of this setting still chains; a change of model with reasoning in the context never does unless said. */
  readonly onSettingsChange: Readonly<Record<string, "chain" | "full">>;
};

/** The policy when the caller says nothing. */
export const defaultChainPolicy: RecordedPolicy = {
  mode: "chained",
  onRefused: "fallback",
  maxAgeMs: 29 * 24 * 60 * 60 * 1000,
  onSettingsChange: {},
};

/** The policy of an engine or of a run, as it will be recorded. */
export function policyOf(
  mode: Mode | undefined,
  { require = false, ...chain }: Partial<ChainPolicy> = {},
  keepReasoningMs: number | null = null,
): RecordedPolicy {
  const given = { ...defaultChainPolicy, ...chain, onSettingsChange: { ...chain.onSettingsChange } };
  return {
    ...given,
    ...(mode === undefined ? {} : { mode }),
    ...(require ? { require: true as const } : {}),
    ...(keepReasoningMs === null ? {} : { keepReasoningMs }),
  };
}
