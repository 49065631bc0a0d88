import type { CacheUse } from "../cache/prompt-cache.ts";
import type { JsonObject } from "../wire.ts";

/** The usage of a prompt. Its input tokens are those that were neither read from the cache nor written to it. */
export function usageOf({ prompt, read, written, isTold, areWritesTold }: CacheUse): JsonObject {
  if (!isTold) return { input_tokens: prompt };
  const { "5m": short = 0, "1h": long = 0 } = written.by;
  const creation = { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long };
  return {
    ...{ input_tokens: prompt - read - written.all, cache_read_input_tokens: read },
    ...(areWritesTold ? { cache_creation_input_tokens: written.all, cache_creation: creation } : {}),
  };
}
