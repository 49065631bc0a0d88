import { expect } from "vitest";
import * as z from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware, type Layer, type LayerContext, type Next } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import type { AnswerOptions } from "../../../src/engine/run/run-options.ts";
import type { Breakpoint } from "../../../src/engine/session/breakpoint.ts";
import { type ScriptedAnswer, type ScriptedProvider, scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

/** One log and one model, and as many processes as are wanted. */
export function createScene(answers: readonly ScriptedAnswer[], config: Partial<EngineConfig> = {}) {
  const events = createMemoryStore();
  const provider = scripted(answers);
  const clock = { now: Date.parse("2026-03-01T12:00:00.000Z") };
  const tick = (): number => {
    clock.now += 1;
    return clock.now;
  };
  const process = (changes: Partial<EngineConfig> = {}): Life => ({
    conversation: new TurnlogStore(events, { clock: tick }).conversation("cnv_scene"),
    engine: createEngine({ provider, clock: tick, sleep: async () => undefined, ...config, ...changes }),
  });
  return { provider, process, clock, store: () => new TurnlogStore(events, { clock: tick }) };
}

export type Life = { readonly conversation: Conversation; readonly engine: ReturnType<typeof createEngine> };

/** Runs until the stop, and dies there. */
export async function dieAt(
  { conversation, engine }: Life,
  at: (stop: Breakpoint) => boolean,
  options: AnswerOptions = {},
): Promise<void> {
  const stepping = conversation.step(engine, options);
  const told = stepping.result.catch((error: unknown) => error);
  for await (const stop of stepping) if (at(stop)) break;
  expect(await told).toMatchObject({ code: "stepping-left" });
}

export const beforeRequest =
  (number: number) =>
  (stop: Breakpoint): boolean =>
    stop.kind === "inference" && stop.phase === "before" && number-- === 0;

export const inTool =
  (name: string, phase: Breakpoint["phase"]) =>
  (stop: Breakpoint): boolean =>
    stop.kind === "tool" && stop.call.name === name && stop.phase === phase;

export const layer = (
  name: string,
  handle: (turn: Parameters<Next>[0], next: Next, ctx: LayerContext) => ReturnType<Next>,
  version = "1.0.0",
): Layer => defineMiddleware({ name, version }, (next) => (turn, ctx) => handle(turn, next, ctx));

/** A tool that counts how often it really ran. */
export function counted(name: string, idempotent: boolean) {
  const runs: string[] = [];
  const each = tool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.object({}),
    idempotent,
    execute: (_, { idempotencyKey }) => {
      runs.push(idempotencyKey);
      return `${name} done`;
    },
  });
  return { tool: each, runs };
}

export const textsOf = async (conversation: Conversation): Promise<readonly string[]> =>
  (await conversation.turn()).blocks.map(({ text }) => text);

export const asked = ({ requests }: ScriptedProvider): number => requests.length;
