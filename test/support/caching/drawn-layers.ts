import * as z from "zod";
import type { CacheVerdict } from "../../../packages/reference-server/src/server.ts";
import type { RequestCache } from "../../../src/analysis/costs/request-cache.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { defineMiddleware, type Layer } from "../../../src/engine/ports/middleware.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { lens } from "../../../src/middleware/lens.ts";
import { cacheAuthorOf } from "../../../src/projections/views/cache-author.ts";
import { type Draw, drawFrom } from "../../../src/testing/rehearsal/draw.ts";
import { type CachedProvider, type CachedWorld, minute } from "./cached-world.ts";

/** A request: what turnlog concludes, what the server decided, and who changed something before it, as the test knows. */
export type Judged = {
  readonly cache: RequestCache;
  readonly truth: CacheVerdict;
  /** The author that was recorded when the request was planned; null if no block had changed. */
  readonly planned: string | null;
  /** Who changed something of the prompt since the earlier request that the server compares with. */
  readonly authors: ReadonlySet<string>;
  readonly drawn: string;
};

/** An author in one word, as the test names those that it draws. */
export const authorName = (author: RequestCache["author"]): string =>
  author === null ? "nobody" : author.kind === "layer" ? author.name : author.kind;

type Drawn = {
  model: "model-a" | "model-b";
  instructions: string;
  tools: number;
  /** The form that the veil shows of secrets; null without a veil. */
  veil: string | null;
};

/** A talk in which layers, the caller and settings change things at random, one at a time. */
export async function drawnLayers(
  world: CachedWorld,
  wire: CachedProvider,
  { seed, requests }: { readonly seed: number; readonly requests: number },
): Promise<readonly Judged[]> {
  const draw = drawFrom("layers", wire.front, seed);
  const { talk, server, rules } = world;
  const now: Drawn = { model: "model-a", instructions: "Be kind.", tools: 0, veil: null };
  const asked: { readonly revision: number; readonly author: string | null; readonly drawn: string }[] = [];
  const first = server.requests.length;
  for (let n = 0; n < requests; n += 1) {
    const idle = draw.chance(0.08) ? 11 : 1;
    world.clock.now += idle * minute;
    const step = n === 0 ? "none" : draw.chance(0.4) ? "none" : draw.pick(steps);
    const before = await talk.turn();
    const changed = await change(step, { draw, now, world });
    await talk.append(textOf(draw));
    const { author, middleware } = layersOf(step, { draw, now, before });
    const { model, instructions } = now;
    const provider = wire.provider(server.url, { model, instructions });
    await talk.run(world.engine({ provider, middleware, tools: toolsOf(now.tools) }));
    asked.push({
      revision: ((await talk.head())?.revision ?? 0) - 1,
      author: author() ?? changed,
      drawn: `${step}, ${idle} min`,
    });
  }
  const judged: Judged[] = [];
  for (const [n, { revision, drawn }] of asked.entries()) {
    const truth = server.requests[first + n]?.cache;
    if (truth === undefined) throw new Error("the server gave no verdict");
    const since = truth.against === null ? n : truth.against - first;
    const authors = new Set(asked.slice(since + 1, n + 1).flatMap(({ author }) => author ?? []));
    const { cache, decision } = await talk.why(revision, { cacheRules: rules });
    const { unit = null, actor = null } = decision.cache ?? {};
    const planned = unit === null ? null : authorName(cacheAuthorOf({ actor, change: "edited" }));
    judged.push({ cache, truth, authors, planned, drawn });
  }
  return judged;
}

const steps = [
  ...["veil", "veil", "stamp", "drop", "note", "revert", "compact", "model", "tools", "instructions"],
] as unknown as readonly [string, ...string[]];

const textOf = (draw: Draw): string =>
  `${draw.chance(0.4) ? "secret " : ""}${draw.nonce()} ${"word ".repeat(30 + draw.below(60))}`;

const isSecret = (text: string): boolean => text.startsWith("secret");

/** What the caller does before the message, and changed settings; null if nothing of earlier prompts changed. */
async function change(
  step: string,
  { draw, now, world: { talk } }: { readonly draw: Draw; readonly now: Drawn; readonly world: CachedWorld },
): Promise<string | null> {
  const exchanges = (await talk.turn()).exchanges.length;
  switch (step) {
    case "model":
      now.model = now.model === "model-a" ? "model-b" : "model-a";
      return "settings";
    case "tools":
      now.tools = (now.tools + 1 + draw.below(2)) % 3;
      return "settings";
    case "instructions":
      now.instructions = draw.nonce();
      return "settings";
    case "revert":
      if (exchanges < 3) return null;
      await talk.revertToExchange(-2 - draw.below(2));
      return "caller";
    case "compact":
      if (exchanges < 4) return null;
      await talk.compact({ how: "drop-exchanges", keep: 2 });
      return "compaction";
    default:
      return null;
  }
}

/** The layers of the step, and who of them changed something of an earlier prompt: known once they have run. */
function layersOf(
  step: string,
  { draw, now, before }: { readonly draw: Draw; readonly now: Drawn; readonly before: Turn },
): { readonly author: () => string | null; readonly middleware: readonly Layer[] } {
  let author: string | null = null;
  const version = "1.0.0";
  if (step === "veil") {
    const veil = draw.pick([null, "one", "two"]);
    if (veil !== now.veil && before.blocks.some(({ text }) => isSecret(text))) author = "veil";
    now.veil = veil;
  }
  const form = now.veil;
  const veils =
    form === null
      ? []
      : [
          lens({
            ...{ name: "veil", version },
            hide: (block) =>
              block.kind === "user" && isSecret(block.text) ? block.withText(`${form} ${block.text}`) : block,
          }),
        ];
  const place = draw.below(Math.max(1, before.length));
  const edits: Readonly<Record<string, (turn: Turn) => Turn>> = {
    stamp: (turn) =>
      turn.map((block) =>
        block === turn.at(place) && block.kind === "user" ? block.withText(`${block.text} seen`) : block,
      ),
    drop(turn) {
      const [exchange] = turn.exchanges;
      return turn.exchanges.length < 4 || exchange === undefined
        ? turn
        : turn.filter((block) => !turn.blocks.slice(0, exchange.end).includes(block));
    },
    note: (turn) => turn.insertOnce(`note ${before.length}`, user("A note on top."), Math.min(1, before.length)),
  };
  const edit = edits[step];
  const layer =
    edit === undefined
      ? []
      : [
          defineMiddleware({ name: step, version }, (next) => (turn) => {
            const changed = edit(turn);
            if (changed.digest !== turn.digest && before.length > 0) author = step;
            return next(changed);
          }),
        ];
  return { author: () => author, middleware: [...layer, ...veils] };
}

const toolsOf = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    tool({ name: `tool-${n}`, description: `Does ${n}.`, inputSchema: z.object({}), execute: () => "done" }),
  );
