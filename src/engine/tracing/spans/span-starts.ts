import type { JsonObject } from "../../../base/json.ts";
import type { Block } from "../../../domain/block.ts";
import { type BlockJson, blockFromJson } from "../../../domain/block-json.ts";
import type { ConversationEventOf } from "../../../domain/events/event.ts";
import type { InferenceRequestedData } from "../../../domain/events/inference-events.ts";
import type { RecordedEvent } from "../../../domain/events/recorded.ts";
import { isAside } from "../../../domain/frame.ts";
import { modelOf, providerName, requestAttributes, settingsAttributes } from "./request-attributes.ts";
import { type SpanOf, serviceAttributes } from "./service-attributes.ts";
import { effectKey, partKey, requestKey, type SpanAttributes, type SpanKey, type SpanStart, toolKey } from "./span.ts";
import { argumentsContent, inputContent } from "./span-content.ts";
import type { SpanOptions } from "./span-options.ts";

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
