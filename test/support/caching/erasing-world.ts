import * as z from "zod";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import type { Block } from "../../../src/domain/block.ts";
import { image, user } from "../../../src/domain/make-block.ts";
import type { EngineConfig } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { lens } from "../../../src/middleware/lens.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";
import { type CachedProvider, cachedWorld, minute } from "./cached-world.ts";

/** So long that the rest of a prompt hardly counts. */
export const long = (text: string): string => `${text} ${"word ".repeat(600)}`.trimEnd();

export const threeTimes = ["one", "two", "three"];

/** A message with an image of its own. */
export const picture = (text: string) => user([{ type: "text", text }, image(`data:image/png;base64,${btoa(text)}`)]);

/** Shows the model another form of a block in the middle of the Turn. */
export const veil = (version: string) =>
  lens({
    ...{ name: "veil", version },
    hide: (block) => (block.text.startsWith("three") ? block.withText(`${version} ${block.text}`) : block),
  });

/** Does not show the model the blocks that begin so. */
export const without = (version: string, hidden: string) =>
  defineMiddleware({ name: "without", version }, (next) => async (turn) => {
    const shown = turn.filter(({ text }) => !text.startsWith(hidden));
    return turn.concat((await next(shown)).after(shown.length));
  });

export const lookUp = tool({
  ...{ name: "look-up", description: "Looks up.", inputSchema: z.object({ of: z.string() }) },
  execute: async () => "found",
});

/** A conversation, and the means to go on and to erase a block. Every request says the whole conversation, unless its mode says otherwise. */
export async function erasingWorld(
  wire: CachedProvider,
  options: Pick<NonNullable<Parameters<typeof cachedWorld>[1]>, "answer"> = {},
) {
  const events = createMemoryStore();
  const world = await cachedWorld(wire, { ...options, events });
  const { clock, talk, server } = world;
  const store = new TurnlogStore(events, { clock: () => clock.now });
  const provider = wire.provider(server.url, { model: "m-1" });
  const ask = async (said: string, { of = talk, ...config }: Partial<EngineConfig> & { of?: typeof talk } = {}) => {
    clock.now += minute;
    await of.append(long(said));
    await of.run(world.engine({ provider, mode: "stateless", ...config }));
  };
  /** Erases the first block that begins so. */
  const erase = (begin: string, of = talk) => eraseBlock(({ text }) => text.startsWith(begin), of);
  /** Erases the first such block. */
  const eraseBlock = async (isMeant: (block: Block) => boolean, of = talk) => {
    clock.now += 1_000;
    const block = (await of.turn()).blocks.find(isMeant)?.id ?? "";
    const plan = await store.planErasure({ blocks: [{ conversation: of.id, block }] });
    await store.erase(plan, { by: "dpo", ground: "gdpr-17" });
    return block;
  };
  const whyAt = async (revision?: number, of = talk) => of.why(revision, { cacheRules: world.rules });
  return { ...world, erase, eraseBlock, ask, whyAt, store, events, provider };
}
