import type { Capabilities } from "../engine/ports/provider.ts";

/** What OpenAI's own endpoint can do (responses-api.md 2.1, 2.3, 2.4; a chained request has to bring something). */
export const defaultCapabilities: Capabilities = {
  chain: true,
  echo: "previous-response-id",
  storeDefault: true,
  emptyInput: false,
  encryptedReasoning: true,
  itemIds: true,
};
