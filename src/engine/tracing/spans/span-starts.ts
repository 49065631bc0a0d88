import { isJsonObject, type JsonObject, type JsonValue } from "../../../base/json.ts";
import type { Block } from "../../../domain/block.ts";
import { type BlockJson, blockFromJson } from "../../../domain/block-json.ts";
import type { ConversationEventOf } from "../../../domain/events/event.ts";
import type { Decision, InferenceRequestedData } from "../../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../../domain/events/recorded.ts";
import { isAside } from "../../../domain/frame.ts";
import { effectKey, partKey, requestKey, type SpanAttributes, type SpanKey, type SpanStart, toolKey } from "./span.ts";
import { argumentsContent, inputContent } from "./span-content.ts";
import type { SpanOptions, TracingService } from "./span-options.ts";

/** The run that spans belong to. */
export type RunPlace = { readonly conversationId: string; readonly runId: string };

/** A span that begins, without its time and the span that it is in. */
type Beginning = Omit<SpanStart, "at" | "parent" | "part">;

type Call = { readonly frame: string; readonly call: Block };

export const isStepKey = (key: SpanKey): boolean => key.startsWith("step/");

/** Words the beginnings of a run's spans; knows the number of each step, and the step of each call. */
export class SpanStarts {
  readonly #place: RunPlace;
  readonly #options: SpanOptions;
  readonly #steps = new Map<string, number>();
  readonly #calls = new Map<string, Call>();
  #scope = "";
  /** Whether the run has shortened its Turn. */
  isCompacted = false;

  constructor(place: RunPlace, options: SpanOptions) {
    this.#place = place;
    this.#options = options;
  }

  part(
    epoch: number,
    { scope, ...rest }: Pick<SpanStart, "at" | "follows"> & { readonly scope: string | undefined },
  ): SpanStart {
    if (scope !== undefined) this.#scope = scope;
    const { agent, agentVersion } = this.#options;
    return {
      ...this.#internal("part", partKey(epoch), agent === null ? "invoke_agent" : `invoke_agent ${agent}`),
      ...{ ...rest, part: partKey(epoch), parent: null },
      attributes: {
        ...this.#common("part"),
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": providerName(this.#scope),
        ...(agent === null ? {} : { "gen_ai.agent.name": agent }),
        ...(agentVersion === null ? {} : { "gen_ai.agent.version": agentVersion }),
        "turnlog.run.part": epoch,
      },
    };
  }

  /** The step that a request or a tool call belongs to; null if it is in none: asked beside the conversation, or not called by a model. */
  stepOf({ event, frame: at }: RecordedEvent, part: SpanKey): Omit<SpanStart, "at"> | null {
    const called = event.type === "ToolStarted" ? this.#calls.get(event.data.blockId)?.frame : (at ?? "0");
    if (called === undefined || isAside(called)) return null;
    const number = this.#steps.get(called) ?? this.#steps.size + 1;
    this.#steps.set(called, number);
    return {
      ...this.#internal("step", `step/${part}/${called}`, `step ${number}`),
      ...{ part, parent: part },
      attributes: { ...this.#common("step"), "turnlog.step": number, "turnlog.frame": called },
    };
  }

  request(
    data: InferenceRequestedData,
    {
      frame,
      settings,
      blocks,
    }: { readonly frame: string; readonly settings: JsonObject; readonly blocks: readonly Block[] | null },
  ): Beginning {
    const content = blocks === null ? {} : inputContent(blocks, settings, this.#options);
    return {
      ...{ type: "start", key: requestKey(data.inferenceId), kind: "client", follows: null },
      name: `chat ${modelOf(settings)}`,
      attributes: {
        ...this.#common("request"),
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": providerName(data.scope),
        ...settingsAttributes(settings),
        ...(this.isCompacted ? { "gen_ai.conversation.compacted": true } : {}),
        "turnlog.frame": frame,
        ...requestAttributes(data),
        ...content,
      },
    };
  }

  tool({ blockId, name }: ConversationEventOf<"ToolStarted">["data"], frame: string): Beginning {
    const call = this.#calls.get(blockId)?.call ?? null;
    const callId = call?.callId ?? null;
    return {
      ...this.#internal("tool", toolKey(blockId), `execute_tool ${name}`),
      attributes: {
        ...this.#common("tool"),
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        ...(callId === null ? {} : { "gen_ai.tool.call.id": callId }),
        "turnlog.frame": frame,
        "turnlog.block.id": blockId,
        ...(this.#options.hasContent ? argumentsContent(call) : {}),
      },
    };
  }

  /** An effect of a layer: the conventions have no name for one. */
  effect(
    { effectId, name }: ConversationEventOf<"EffectStarted">["data"],
    { frame, actor }: Pick<RecordedEvent, "frame" | "actor">,
  ): Beginning {
    return {
      ...this.#internal("effect", effectKey(effectId), `effect ${name}`),
      attributes: {
        ...this.#common("effect"),
        "turnlog.effect.name": name,
        ...(actor.kind === "middleware" ? { "turnlog.layer": actor.name } : {}),
        "turnlog.frame": frame ?? "0",
        "turnlog.block.id": effectId,
      },
    };
  }

  /** Remembers the calls in an answer. */
  noteCalls(frame: string, output: readonly BlockJson[]): void {
    for (const json of output)
      if (json.kind === "tool_call") this.#calls.set(json.id, { frame, call: blockFromJson(json) });
  }

  #internal(spanOf: SpanOf, key: SpanKey, name: string): Beginning {
    return { type: "start", key, kind: "internal", name, attributes: this.#common(spanOf), follows: null };
  }

  #common(spanOf: SpanOf): SpanAttributes {
    const { conversationId, runId } = this.#place;
    const { service, attributes } = this.#options;
    return {
      ...attributes,
      ...serviceAttributes(service, conversationId, spanOf),
      "gen_ai.conversation.id": conversationId,
      "turnlog.run.id": runId,
    };
  }
}

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
function settingsAttributes(settings: JsonObject): SpanAttributes {
  const found = Object.entries(settingPlaces).flatMap(([name, { type, places }]) => {
    const value = places.map((place) => valueAt(settings, place)).find((each) => typeof each === type);
    return typeof value === "string" || typeof value === "number" ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found);
}

const valueAt = (settings: JsonObject, place: string): JsonValue | undefined =>
  place.split(".").reduce<JsonValue | undefined>((at, name) => (isJsonObject(at) ? at[name] : undefined), settings);

/** The model of a request; `unknown` if its settings are not known, or were erased. */
function modelOf(settings: JsonObject): string {
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
const providerName = (scope: string): string =>
  providers.find(([endpoint]) => endpoint.test(scope))?.[1] ?? scope.split(" ", 1)[0] ?? scope;

/** The address of the server, and its port if the address names one. */
function serverAttributes(scope: string): SpanAttributes {
  const [, address, port] = /\/\/(\[[^\]]+\]|[^/:\s]+)(?::(\d+))?/.exec(scope) ?? [];
  if (address === undefined) return {};
  return { "server.address": address, ...(port === undefined ? {} : { "server.port": Number(port) }) };
}

/** What planning decided about a request, and where it goes. */
function requestAttributes({
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

/** What a span is of: the service's own word for it follows from this. */
type SpanOf = "part" | "step" | "request" | "tool" | "effect";

const langsmithKinds = { part: "chain", step: "chain", request: "llm", tool: "tool", effect: "chain" } as const;
const langfuseTypes = { part: "agent", step: "span", request: "generation", tool: "tool", effect: "span" } as const;
const openInferenceKinds = { part: "AGENT", step: "CHAIN", request: "LLM", tool: "TOOL", effect: "CHAIN" } as const;

/** The attributes by which a service groups the runs of a conversation, and knows what a span is of. */
function serviceAttributes(service: TracingService | null, conversationId: string, spanOf: SpanOf): SpanAttributes {
  switch (service) {
    case "langfuse":
      return { "langfuse.session.id": conversationId, "langfuse.observation.type": langfuseTypes[spanOf] };
    case "langsmith":
      return { "langsmith.trace.session_id": conversationId, "langsmith.span.kind": langsmithKinds[spanOf] };
    case "phoenix":
      return { "session.id": conversationId, "openinference.span.kind": openInferenceKinds[spanOf] };
    case null:
      return {};
  }
}
