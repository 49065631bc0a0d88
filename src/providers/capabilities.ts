import type { Capabilities } from "../engine/stack/codec.ts";
import type { Provider } from "../engine/stack/provider.ts";

/** What an endpoint can do by default, and what of it the caller has set. */
export function capabilitiesOf(
  given: { readonly [Name in keyof Capabilities]?: Capabilities[Name] | undefined } = {},
): Required<Pick<Provider, "capabilities" | "configured">> {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const capabilities = { ...defaultCapabilities, ...set };
  return { capabilities, configured: capabilityNames.filter((name) => Object.hasOwn(set, name)) };
}

/** What OpenAI's own endpoint can do (responses-api.md 2.1, 2.3, 2.4; a chained request has to bring something). */
export const defaultCapabilities: Capabilities = {
  chain: true,
  echo: "previous-response-id",
  storeDefault: true,
  emptyInput: false,
  encryptedReasoning: true,
  itemIds: true,
};

const capabilityNames = [
  ...(["chain", "echo", "storeDefault", "emptyInput", "encryptedReasoning", "itemIds"] as const),
] satisfies readonly (keyof Capabilities)[];
