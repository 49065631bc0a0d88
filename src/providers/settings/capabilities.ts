import { meant } from "../../base/options.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { ProviderSettingsError } from "./settings-error.ts";

/** What an endpoint of the Responses API can do. */
export type ResponsesCapabilities = {
  /** Continues from `previous_response_id`. */
  readonly chain: boolean;
  /** `anchor`: it echoes `previous_response_id`. `none`: it does not, and only its token counts show whether it ignores the id. */
  readonly echo: "anchor" | "none";
  /** `context`: its input tokens count everything that it read; `none`: they do not show that. */
  readonly counts: "context" | "none";
  /** Has conversation objects (`/conversations`). */
  readonly conversations: boolean;
  /** What an absent `store` means. */
  readonly storeDefault: boolean;
  /** Accepts a chained request without input. */
  readonly emptyInput: boolean;
  /** Returns encrypted reasoning when asked. */
  readonly encryptedReasoning: boolean;
  /** Accepts the ids of stored items in a full request. */
  readonly itemIds: boolean;
  /**
   * What it does with reasoning whose prefix (instructions, tools, earlier blocks) has changed since: withholds it from the model, refuses
   * the request, or does not check.
   */
  readonly reasoningPrefix: "withhold" | "refuse" | "ignore";
  /** Over WebSocket, answers several conversations at the same time, by their `stream_id`. */
  readonly lanes: boolean;
  /** Opens WebSockets, if the caller asks for them; false: requests go by `sse`. */
  readonly websocket: boolean;
};

/** Capabilities as a caller sets them. `probe` assumes a capability until the endpoint refuses it; then turnlog learns that. */
export type GivenCapabilities = {
  readonly [Name in keyof ResponsesCapabilities]?:
    | ResponsesCapabilities[Name]
    | (true extends ResponsesCapabilities[Name] ? "probe" : never)
    | undefined;
};

/** What an endpoint can do, and which capabilities the caller has fixed. */
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

/** What OpenAI's own endpoint can do, by its API reference and guides; a chained request needs input. */
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
