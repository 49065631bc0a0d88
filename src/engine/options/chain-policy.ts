import type { ConversationEventOf } from "../../domain/events/event.ts";

/** How a run's requests reach the model, as the log has it. */
export type RecordedPolicy = ConversationEventOf<"RunStarted">["data"]["chain"];

/**
 * Who keeps the conversation between two requests, and what a request sends of it.
 *
 * - `chained`: the server keeps responses; a request continues from the newest one that is still a prefix of the Turn.
 * - `stateless`: only the log; every request carries the whole Turn and asks the server to store nothing.
 * - `conversation`: a conversation object at the server, which turnlog keeps equal to the Turn.
 * - `auto`: one of these for each run, chosen by what the endpoint can do and what the layers have done so far.
 */
export type Mode = (typeof modes)[number];

export const modes = ["chained", "stateless", "conversation", "auto"] as const;

/** How requests are chained, in every mode. */
export type ChainPolicy = {
  /** Sends only requests that can be chained, except for the first one. */
  readonly require?: boolean;
  /** What to do if the server rejects a chained request: resend it once in full, or fail. */
  readonly onRefused: "fallback" | "throw";
  /**
   * Requests do not continue from responses that are older than this, because servers delete them after 30 days, nor from those
   * dated more than a minute ahead of the clock. Conversation objects do not age.
   */
  readonly maxAgeMs: number;
  /** Whether to chain after a change of this setting; after a change of model with reasoning in the context, the default is never. */
  readonly onSettingsChange: Readonly<Record<string, "chain" | "full">>;
};

/** The default policy. */
export const defaultChainPolicy: RecordedPolicy = {
  mode: "chained",
  onRefused: "fallback",
  maxAgeMs: 29 * 24 * 60 * 60 * 1000,
  onSettingsChange: {},
};

/** The policy of an engine or of a run, as it is recorded. */
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
