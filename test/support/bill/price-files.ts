/** Price files in both forms, with the same prices where both can say them. */
export const litellmFile = JSON.stringify({
  sample_spec: { litellm_provider: "one of …", mode: "chat", input_cost_per_token: 0 },
  "gpt-5.6-sol": {
    ...{ litellm_provider: "openai", mode: "chat" },
    ...{ input_cost_per_token: 4e-6, cache_read_input_token_cost: 4e-7, output_cost_per_token: 2e-5 },
    ...{ cache_creation_input_token_cost: 5e-6, output_cost_per_token_flex: 1e-5, input_cost_per_token_flex: 2e-6 },
    ...{ cache_read_input_token_cost_flex: 2e-7, input_cost_per_token_batches: 2e-6 },
  },
  "openrouter/openai/gpt-5.6-sol": {
    ...{ litellm_provider: "openrouter", mode: "chat" },
    ...{ input_cost_per_token: 5e-6, cache_read_input_token_cost: 5e-7, output_cost_per_token: 3e-5 },
    cache_creation_input_token_cost: 6.25e-6,
  },
  "azure/gpt-5.4": { litellm_provider: "azure", input_cost_per_token: 3e-6, output_cost_per_token: 1.5e-5 },
  "gpt-5.4": { litellm_provider: "openai", input_cost_per_token: 2.5e-6, output_cost_per_token: 1.5e-5 },
  "claude-opus-5-5": {
    ...{ litellm_provider: "anthropic", input_cost_per_token: 4e-6, output_cost_per_token: 2e-5 },
    ...{ cache_read_input_token_cost: 2e-7, cache_creation_input_token_cost: 5e-6 },
    cache_creation_input_token_cost_above_1hr: 8e-6,
  },
  "gemini-2.5-pro": {
    ...{ litellm_provider: "vertex_ai-language-models", input_cost_per_token: 1.25e-6, output_cost_per_token: 1e-5 },
    ...{ input_cost_per_token_above_200k_tokens: 2.5e-6, output_cost_per_token_above_200k_tokens: 1.5e-5 },
    ...{ cache_read_input_token_cost: 1.25e-7, output_cost_per_reasoning_token: 1.2e-5 },
  },
  odd: { litellm_provider: "openai", input_cost_per_token: -1, output_cost_per_token: "free" },
  image: { litellm_provider: "openai", mode: "image_generation", output_cost_per_image: 0.04 },
});

export const modelsDevFile = JSON.stringify({
  openai: {
    ...{ id: "openai", name: "OpenAI", env: ["OPENAI_API_KEY"] },
    models: {
      "gpt-5.6-sol": { id: "gpt-5.6-sol", cost: { input: 4, output: 20, cache_read: 0.4, cache_write: 5 } },
      "gpt-5.4": { id: "gpt-5.4", cost: { input: 2.5, output: 15 } },
      free: { id: "free" },
    },
  },
  azure: { id: "azure", models: { "gpt-5.4": { id: "gpt-5.4", cost: { input: 3, output: 15 } } } },
  google: {
    id: "google",
    models: {
      "gemini-2.5-pro": {
        id: "gemini-2.5-pro",
        cost: {
          ...{ input: 1.25, output: 10, cache_read: 0.125, reasoning: 12 },
          context_over_200k: { input: 2.5, output: 15 },
          tiers: [{ tier: { type: "context", size: 200_000 }, input: 2.5, output: 15 }],
        },
      },
    },
  },
  resale: { id: "resale", models: { "gpt-5.6-sol": { id: "gpt-5.6-sol", cost: { input: 9, output: 9 } } } },
});
