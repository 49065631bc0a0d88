import * as z from "zod";
import { messageOf } from "../../../src/base/error-message.ts";
import type { Block } from "../../../src/domain/block.ts";
import { text, user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import {
  broughtBy,
  defineMiddleware,
  type Layer,
  type LayerContext,
  type Next,
} from "../../../src/engine/ports/middleware.ts";
import { type Tool, type ToolContext, tool } from "../../../src/engine/ports/tool.ts";
import type { McpClient } from "../../../src/integrations/mcp/mcp-client.ts";
import { mcpTools } from "../../../src/integrations/mcp/mcp-tools.ts";
import { numberOf, type Thinking } from "./thinking-providers.ts";

/** What tools and effects have done in the world, by idempotency key: it outlives every process. */
export type Ledger = Map<string, { readonly name: string; times: number; readonly answer: string }>;

/** Tools that write what they do into the ledger; only `look-up` and `remind` may be run twice. */
function ledgerTools(ledger: Ledger): readonly Tool[] {
  return ["look-up", "charge", "remind"].map((name) =>
    tool({
      name,
      description: `Does ${name}.`,
      inputSchema: z.object({ of: z.string() }),
      idempotent: name !== "charge",
      async execute({ of }, { idempotencyKey }) {
        if (name === "remind" && numberOf(of) % 4 === 0) throw new Error(`cannot remind ${of}`);
        return enter(ledger, { key: idempotencyKey, name, answer: `${name} ${of}` });
      },
    }),
  );
}

/** The same tools as an MCP server has them, with the key of each call in what the server receives. */
export async function mcpLedgerTools(ledger: Ledger): Promise<readonly Tool[]> {
  const byName = new Map(ledgerTools(ledger).map((each) => [each.name, each]));
  const client: McpClient = {
    listTools: async () => ({
      tools: [...byName.values()].map(({ name, description, parameters: inputSchema }) => {
        return { name, description, inputSchema };
      }),
    }),
    async callTool({ name, arguments: { of }, _meta: meta }, { signal }) {
      // The ledger looks at nothing but the key.
      const ctx = { idempotencyKey: String(meta?.["turnlog/idempotency-key"]), signal } as ToolContext;
      try {
        return { content: [{ type: "text", text: await byName.get(name)?.execute({ of }, ctx) }] };
      } catch (error) {
        return { isError: true, content: [{ type: "text", text: messageOf(error) }] };
      }
    },
  };
  const tools = await mcpTools(client, { idempotent: ["look-up", "remind"] });
  // A tool of any input, as an engine takes it.
  return tools;
}

type Entry = { readonly key: string; readonly name: string; readonly answer: string };

function enter(ledger: Ledger, { key, name, answer }: Entry): string {
  const known = ledger.get(key);
  if (known === undefined) ledger.set(key, { name, times: 1, answer });
  else known.times += 1;
  return known?.answer ?? answer;
}

/** Layers that edit, restore, retry, hide, reach outside and ask the model beside the conversation, as chance says that the log can repeat. */
function randomLayers(seed: number, ledger: Ledger): readonly Layer[] {
  return Array.from({ length: 1 + (seed % 3) }, (_, depth) =>
    defineMiddleware(
      { name: `layer-${depth}`, version: "1.0.0" },
      (next) => (turn, ctx) => layer(turn, ctx, { next, ledger }),
    ),
  );
}

async function layer(
  given: Turn,
  ctx: LayerContext,
  { next, ledger }: { readonly next: Next; readonly ledger: Ledger },
): Promise<Turn> {
  const dice = Math.floor(ctx.random() * 1_000);
  let asked = given;
  if (dice % 5 === 0) asked = asked.insert(0, user(`note ${dice} of ${ctx.now()}`));
  if (dice % 7 === 0) asked = asked.map((block) => (block.kind === "tool_result" ? block.withText("shorter") : block));
  if (dice % 11 === 0 && asked.length > 1) asked = asked.remove(firstOf(asked));
  // Where a wire has no such part, it is left out, or the run ends there.
  if (dice % 17 === 0) asked = asked.append(user([text(`picture ${dice}`), { type: "refusal", refusal: "No." }]));
  if (dice % 3 === 0) {
    const name = dice % 2 === 0 ? "fetch" : "post";
    const work = async ({ idempotencyKey: key }: { readonly idempotencyKey: string }): Promise<string> =>
      enter(ledger, { key, name, answer: `${name} ${dice}` });
    const found = await ctx.effect(name, work, { idempotent: name === "fetch" }).catch(String);
    asked = asked.append(user(`found ${JSON.stringify(found)}`));
  }
  if (dice % 4 === 3) {
    const question = user(`how ${dice}?`);
    const told = ctx.infer({ input: dice % 8 === 3 ? asked.append(question) : question });
    asked = asked.append(user(`told ${await told.then(({ text: said }) => said, String)}`));
  }
  if (dice % 13 === 0) ctx.onAcknowledged(() => enter(ledger, { key: `ack ${ctx.frame}`, name: "ack", answer: "" }));
  let result: Turn;
  try {
    result = await next(asked);
  } catch {
    result = await next(asked.append(user("once more")));
  }
  if (dice % 6 === 0) result = await next(result.append(user(`and ${dice}?`)));
  if (dice % 2 === 0) return given.append(...broughtBy(given, result).filter(({ kind }) => kind !== "user"));
  return dice % 9 === 0 ? result.map(louder) : result;
}

function firstOf(turn: Turn): Block {
  const first = turn.at(0);
  if (first === undefined) throw new Error("an empty Turn reached a layer");
  return first;
}

const louder = (block: Block): Block => (block.kind === "assistant" ? block.withText(`${block.text}!`) : block);

/** What an engine's tools are, if they are not made for it. */
type Tools = { readonly tools: readonly Tool[] };

/** A whole engine of a seed, on a ledger and a model that outlive it. */
export function engineConfig(
  seed: number,
  ledger: Ledger,
  { asked, hasOwnTools, tools = ledgerTools(ledger) }: Pick<Thinking, "asked" | "hasOwnTools"> & Partial<Tools>,
): EngineConfig {
  return {
    ...asked,
    tools: hasOwnTools ? [] : tools,
    middleware: [...(breaksOff(seed) ? [breakOff] : []), ...randomLayers(seed, ledger)],
    maxSteps: 8,
    onUnsendablePart: seed % 4 === 3 ? "throw" : "omit",
    interruptionNote: notes[seed % notes.length] ?? false,
    sleep: async () => undefined,
  };
}

const notes = [false, true, "You were cut short."] as const;

/** Whether runs of this seed's engine can break off, so that the next one has something to tell the model. */
export const breaksOff = (seed: number): boolean => seed % 5 === 3;

/** What a run answers that breaks off as soon as it has heard the model. */
export const goodMorning = "good morning";

export const breakOff = defineMiddleware({ name: "break-off", version: "1.0.0" }, (next) => async (turn) => {
  const result = await next(turn);
  if (turn.at(-1)?.text === goodMorning) throw new Error("the run broke off");
  return result;
});

/** The same where nobody may be asked who answers: the log says that. */
export const unasked = (config: EngineConfig): EngineConfig =>
  config.route === undefined
    ? config
    : {
        ...config,
        route() {
          throw new Error("the router was asked for what the log says");
        },
      };
