import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json.ts";
import type { Decision, InferenceRequestedData } from "../../../domain/events/inference-events.ts";
import type { SpanAttributes } from "./span.ts";

/** Where the wires have what the conventions name. The first place that has a value of the type counts. */
const settingPlaces = {
  "gen_ai.request.model": { type: "string", places: ["model"] },
  "gen_ai.request.temperature": {
    type: "number",
    places: ["temperature", "generationConfig.temperature", "options.temperature"],
  },
  "gen_ai.request.top_p": { type: "number", places: ["top_p", "topP", "generationConfig.topP", "options.top_p"] },
  "gen_ai.request.top_k": { type: "number", places: ["top_k", "topK", "generationConfig.topK", "options.top_k"] },
  "gen_ai.request.seed": { type: "number", places: ["seed", "generationConfig.seed", "options.seed"] },
  "gen_ai.request.max_tokens": {
    type: "number",
    places: [
      ...["max_output_tokens", "max_completion_tokens", "max_tokens", "maxOutputTokens"],
      ...["generationConfig.maxOutputTokens", "options.num_predict"],
    ],
  },
  "gen_ai.request.reasoning.level": {
    type: "string",
    places: [
      ...["reasoning.effort", "reasoning_effort", "output_config.effort"],
      "generationConfig.thinkingConfig.thinkingLevel",
    ],
  },
} as const;

/** The settings of a request that the conventions have names for. */
export function settingsAttributes(settings: JsonObject): SpanAttributes {
  const found = Object.entries(settingPlaces).flatMap(([name, { type, places }]) => {
    const value = places.map((place) => valueAt(settings, place)).find((each) => typeof each === type);
    return typeof value === "string" || typeof value === "number" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}

const valueAt = (settings: JsonObject, place: string): JsonValue | undefined =>
  place.split(".").reduce<JsonValue | undefined>((at, name) => (isJsonObject(at) ? at[name] : undefined), settings);

/** The model of a request; `unknown` if its settings are not known, or were erased. */
export function modelOf(settings: JsonObject): string {
  const { model } = settings;
  return typeof model === "string" ? model : "unknown";
}

/** The names that the conventions give to providers, by the address of the endpoint. */
const providers: readonly (readonly [RegExp, string])[] = [
  [/\/\/[^/ ]*\bopenai\.com\b/, "openai"],
  [/\/\/[^/ ]*\.azure\.com\b/, "azure.ai.openai"],
  [/\/\/[^/ ]*\banthropic\.com\b|^claude-cli\b|^ai-sdk provider=anthropic\b/, "anthropic"],
  [/\/\/generativelanguage\.googleapis\.com\b|^ai-sdk provider=google\.generative-ai/, "gcp.gemini"],
  [/\/\/[^/ ]*\baiplatform\.googleapis\.com\b/, "gcp.vertex_ai"],
  [/\/\/bedrock[^/ ]*\.amazonaws\.com\b/, "aws.bedrock"],
];

/** The provider of an endpoint as the conventions name it; for any other, turnlog's name of the provider. */
export const providerName = (scope: string): string =>
  providers.find(([endpoint]) => endpoint.test(scope))?.[1] ?? scope.split(" ", 1)[0] ?? scope;

/** The address of the server, and its port if the address names one. */
function serverAttributes(scope: string): SpanAttributes {
  const [, address, port] = /\/\/(\[[^\]]+\]|[^/:\s]+)(?::(\d+))?/.exec(scope) ?? [];
  if (address === undefined) return {};
  return { "server.address": address, ...(port === undefined ? {} : { "server.port": Number(port) }) };
}

/** What planning decided about a request, and where it goes. */
export function requestAttributes({
  inferenceId,
  attempt,
  scope,
  decision,
  requestBytes,
  route,
}: InferenceRequestedData): SpanAttributes {
  const { strategy, reason, transport } = decision;
  return {
    "gen_ai.request.stream": transport !== "json",
    ...previousResponse(decision),
    ...serverAttributes(scope),
    "turnlog.inference.id": inferenceId,
    "turnlog.attempt": attempt,
    "turnlog.decision.strategy": strategy,
    ...(reason === null ? {} : { "turnlog.decision.reason": reason }),
    "turnlog.request.bytes": requestBytes,
    ...(route === undefined ? {} : { "turnlog.route": route }),
  };
}

const previousResponse = ({ anchor }: Decision): SpanAttributes =>
  anchor?.kind === "response" ? { "gen_ai.request.previous_response.id": anchor.id } : {};
