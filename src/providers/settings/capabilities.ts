import { meant } from "../../base/options.ts";
import type { Provider } from "../../engine/stack/provider.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** What an endpoint of the Responses API can do. */
export type ResponsesCapabilities = {
  /** Continues from `previous_response_id`. */
  readonly chain: boolean;
  /** `anchor`: it echoes `previous_response_id`. `none`: it does not, and only the tokens that it counts tell whether it ignores it. */
  readonly echo: "anchor" | "none";
  /** `context`: its input tokens are those of all that it read; `none`: they tell nothing of that. */
  readonly counts: "context" | "none";
  /** Has conversation objects (`/conversations`). */
  readonly conversations: boolean;
  /** What an absent `store` means. */
  readonly storeDefault: boolean;
  /** Accepts a chained request without input. */
  readonly emptyInput: boolean;
  /** Gives encrypted reasoning when asked. */
  readonly encryptedReasoning: boolean;
  /** Accepts the ids of stored items in a full request. */
  readonly itemIds: boolean;
  /**
   * What it does with reasoning whose prefix (instructions, tools, earlier blocks) is not the one that it was made from: keeps it from the
   * model, refuses the request, or does not look.
   */
  readonly reasoningPrefix: "withhold" | "refuse" | "ignore";
  /** Over WebSocket, answers several conversations beside each other, by their `stream_id`. */
  readonly lanes: boolean;
  /** Opens WebSockets, where those are asked for; false: requests go by `sse`. */
  readonly websocket: boolean;
};

/** As a caller sets them: `probe` takes for granted what may be refused once, and then is learnt. */
export type GivenCapabilities = {
  readonly [Name in keyof ResponsesCapabilities]?:
    | ResponsesCapabilities[Name]
    | (true extends ResponsesCapabilities[Name] ? "probe" : never)
    | undefined;
};

/** What an endpoint can do by default, and what of it the caller has set for good. */
export function capabilitiesOf(given: GivenCapabilities = {}): Required<Pick<Provider, "capabilities" | "configured">> {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(defaultCapabilities, name))
      throw new ProviderSettingsError(
        `capabilities has no '${name}': ${meant(name, Object.keys(defaultCapabilities))}`,
      );
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  const capabilities = {
    ...defaultCapabilities,
    ...Object.fromEntries(set.map(([name, value]) => [name, value === "probe" ? true : value])),
  };
  const settled = new Set(set.filter(([, value]) => value !== "probe").map(([name]) => name));
  return { capabilities, configured: Object.keys(defaultCapabilities).filter((name) => settled.has(name)) };
}

/** What OpenAI's own endpoint can do (its API reference and guides; a chained request has to bring something). */
export const defaultCapabilities: ResponsesCapabilities = {
  chain: true,
  echo: "anchor",
  counts: "context",
  conversations: true,
  storeDefault: true,
  emptyInput: false,
  encryptedReasoning: true,
  itemIds: true,
  reasoningPrefix: "withhold",
  lanes: true,
  websocket: true,
};
