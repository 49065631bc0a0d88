/** Who bills for an endpoint, under the names that price files give them. */
export type Vendor = { readonly litellm: readonly string[]; readonly modelsDev: readonly string[] };

type Known = Vendor & { readonly endpoint: RegExp };

const known: readonly Known[] = [
  vendor(/\/\/[^/]*\bopenai\.com\b/, ["openai"], ["openai"]),
  vendor(/\/\/[^/]*\.azure\.com\b/, ["azure", "azure_ai"], ["azure"]),
  vendor(/\/\/[^/]*\banthropic\.com\b|^claude-cli\b|^ai-sdk provider=anthropic\b/, ["anthropic"], ["anthropic"]),
  vendor(/\/\/generativelanguage\.googleapis\.com\b|^ai-sdk provider=google\.generative-ai/, ["gemini"], ["google"]),
  vendor(/\/\/[^/]*\baiplatform\.googleapis\.com\b/, ["vertex_ai"], ["google-vertex", "google-vertex-anthropic"]),
  vendor(/\/\/bedrock[^/]*\.amazonaws\.com\b/, ["bedrock"], ["amazon-bedrock"]),
  vendor(/\/\/[^/]*\bopenrouter\.ai\b/, ["openrouter"], ["openrouter"]),
  vendor(/\/\/[^/]*\bdeepseek\.com\b/, ["deepseek"], ["deepseek"]),
  vendor(/\/\/[^/]*\bmistral\.ai\b/, ["mistral"], ["mistral"]),
  vendor(/\/\/[^/]*\bgroq\.com\b/, ["groq"], ["groq"]),
  vendor(/\/\/[^/]*\bx\.ai\b/, ["xai"], ["xai"]),
  vendor(/\/\/[^/]*\bfireworks\.ai\b/, ["fireworks_ai"], ["fireworks-ai"]),
  vendor(/\/\/[^/]*\btogether\.(xyz|ai)\b/, ["together_ai"], ["togetherai"]),
  vendor(/\/\/[^/]*\bollama\.com\b/, ["ollama"], ["ollama-cloud"]),
];

/** The vendor of an endpoint, by its address; null for one that no price file knows, such as a server of the user's own. */
export const vendorOf = (endpoint: string | null): Vendor | null =>
  endpoint === null ? null : (known.find((each) => each.endpoint.test(endpoint)) ?? null);

function vendor(endpoint: RegExp, litellm: readonly string[], modelsDev: readonly string[]): Known {
  return { endpoint, litellm, modelsDev };
}
