import * as z from "zod";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { user } from "../../../src/domain/make-block.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { createEngine, type EngineConfig } from "../../../src/engine/options/create-engine.ts";
import type { Engine } from "../../../src/engine/options/engine.ts";
import { defineMiddleware, type Layer, type LayerContext, type Next } from "../../../src/engine/ports/middleware.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import { type ScriptedProvider, scripted } from "../../../src/providers/scripted/scripted.ts";
import type { ScriptedAnswer } from "../../../src/providers/scripted/scripted-answer.ts";
import { createRandom, type Random } from "../coherence/random.ts";
import { damages } from "../log/damaged-copy.ts";
import { createDamagingStore } from "../log/damaging-store.ts";

/** A change of a stack, and the culprits of which one has to be named. */
type Planted = {
  readonly kind: (typeof plantedKinds)[number];
  readonly config: Partial<EngineConfig>;
  readonly culprits: readonly string[];
};

export const plantedKinds = [
  ...(["edit", "drop", "reorder", "instruction", "tool schema", "policy", "nondeterminism"] as const),
] as const;

/** What happened to the conversations of a store. */
type LabTally = Record<
  "erased" | "skipped" | "damaged" | "parked" | "cut off" | "refused" | "failed" | "forks" | "handoffs" | "asides",
  number
>;

export type RandomLab = {
  readonly store: TurnlogStore;
  /** The engine that made the conversations, which must not be asked again, with these changes. */
  readonly engine: (changes?: Partial<EngineConfig>) => Engine;
  /** The same stack, with another version of every layer. */
  readonly versions: Partial<EngineConfig>;
  readonly planted: readonly Planted[];
  /** Two changes at once, both of which have to be named. */
  readonly pair: Pick<Planted, "config" | "culprits">;
  readonly tally: LabTally;
};

/** A store of conversations under one stack, all drawn from a seed, and one change of each kind. */
export async function randomLab(seed: number): Promise<RandomLab> {
  const random = createRandom(seed);
  const tally: LabTally = {
    ...{ erased: 0, skipped: 0, damaged: 0, parked: 0, "cut off": 0 },
    ...{ refused: 0, failed: 0, forks: 0, handoffs: 0, asides: 0 },
  };
  const { events, damage } = createDamagingStore();
  const clock = { now: Date.parse("2026-03-01T12:00:00.000Z") };
  const sources = { clock: () => clock.now, pause: async () => undefined };
  const store = new TurnlogStore(events, sources);
  const world: World = { random, clock, tally, server: createServer(random, tally), ids: 0, stack: stackOf(seed) };
  const talks: Conversation[] = [];
  for (let count = 2 + random.below(3); count > 0; count -= 1) {
    const parent = talks[random.below(talks.length)];
    const isFork = parent !== undefined && random.chance(0.4);
    if (isFork) tally.forks += 1;
    const talk = isFork ? await parent.fork(-1, { id: `cnv_${count}` }) : store.conversation(`cnv_${count}`);
    talks.push(talk);
    for (let runs = 1 + random.below(4); runs > 0; runs -= 1) await say(world, { talk, store });
  }
  // In every store there is one of which all is known.
  const calm = store.conversation("cnv_calm");
  for (const _ of [1, 2]) await say(world, { talk: calm, store, calm: true });
  await spoil({ store: new TurnlogStore(events, sources), talks, random, tally, damage });
  return {
    store: new TurnlogStore(events, sources),
    engine: (changes = {}) =>
      engineOf({ ...configOf(world), provider: untouchable(world.server.provider), ...changes }),
    versions: { middleware: layersOf(world.stack, { version: "9.0.0" }) },
    planted: plantedIn(world.stack),
    pair: {
      config: { middleware: layersOf(world.stack, { replaced: { greet: null, "sign-off": edited } }) },
      culprits: ["greet@1.0.0", "sign-off@1.1.0"],
    },
    tally,
  };
}

type Server = { readonly provider: Provider; refusing: boolean; failing: boolean };

type World = {
  readonly random: Random;
  readonly clock: { now: number };
  readonly tally: LabTally;
  readonly server: Server;
  readonly stack: Stack;
  ids: number;
};

/** A model that calls tools, and forgets responses and fails when told to. */
function createServer(random: Random, tally: LabTally): Server {
  const answers: ScriptedProvider = scripted(({ requestNumber }): ScriptedAnswer => {
    const calls = random.chance(0.5) ? 1 + random.below(2) : 0;
    const reasoning = random.chance(0.4) ? { reasoning: `thought ${requestNumber}` } : {};
    if (calls === 0) return { ...reasoning, text: `answer ${requestNumber}` };
    const called = Array.from({ length: calls }, (_, n) => ({
      name: random.chance(0.2) ? "charge" : "look-up",
      arguments: { of: `${requestNumber} ${n}` },
    }));
    return { ...reasoning, calls: called };
  });
  const server: Server = {
    refusing: false,
    failing: false,
    provider: {
      ...answers,
      infer(request) {
        if (server.refusing && request.bodyText.includes("previous_response_id")) {
          server.refusing = false;
          tally.refused += 1;
          return Promise.reject(new ProviderError("gone", { kind: "lost-state", outcome: "rejected", status: 404 }));
        }
        if (server.failing) {
          server.failing = random.chance(0.5);
          tally.failed += 1;
          return Promise.reject(
            new ProviderError("busy", {
              kind: "rate-limited",
              outcome: "rejected",
              status: 429,
              shouldRetry: random.chance(0.8),
            }),
          );
        }
        return answers.infer(request);
      },
    },
  };
  return server;
}

const untouchable = (provider: Provider): Provider => ({
  ...provider,
  infer() {
    throw new Error("a comparison asked a provider");
  },
});

type Stack = { readonly habits: readonly string[]; readonly mode: "chained" | "stateless" };

const habits = ["idle", "note", "hide", "asks", "fetches", "stamp", "sign", "again", "back"] as const;

function stackOf(seed: number): Stack {
  const random = createRandom(seed + 7);
  const drawn = Array.from({ length: 1 + random.below(3) }, () => random.pick(habits));
  return { habits: [...new Set(drawn)], mode: random.chance(0.75) ? "chained" : "stateless" };
}

type Making = {
  readonly version?: string;
  readonly replaced?: Readonly<Record<string, Layer | null>>;
  readonly order?: readonly string[];
};

/** The layers of a stack; the four that a change may concern are in each. */
function layersOf({ habits: drawn }: Stack, { version = "1.0.0", replaced = {}, order }: Making = {}): Layer[] {
  const names = order ?? ["greet", ...drawn, "brief", "sign-off", "dicey"];
  return names.flatMap((name) => {
    const other = replaced[name];
    if (other === null) return [];
    return [other ?? layerOf(name, version)];
  });
}

const layerOf = (name: string, version: string): Layer =>
  defineMiddleware({ name, version }, (next) => (turn, ctx) => act(name, turn, { next, ctx }));

type Acting = { readonly next: Next; readonly ctx: LayerContext };

async function act(name: string, turn: Turn, { next, ctx }: Acting): Promise<Turn> {
  switch (name) {
    case "greet":
      return next(turn.insertOnce("greet", user("Hello, you."), 0));
    case "sign-off":
      return next(turn.insertOnce("sign-off", user("Yours, me."), 0));
    case "brief":
      ctx.instructions("Be brief.");
      return next(turn);
    case "note":
      return next(ctx.random() < 0.5 ? turn.append(user(`note ${Math.floor(ctx.random() * 1_000)}`)) : turn);
    case "hide": {
      const shown = turn.filter(({ kind, text }) => kind !== "user" || text.length % 3 !== 0);
      return next(shown.length === 0 ? turn : shown);
    }
    case "asks":
      if (ctx.random() < 0.4) await ctx.infer({ input: "and what is this?" });
      return next(turn);
    case "fetches": {
      const got = await ctx.effect("fetch", async () => "fetched", { idempotent: true });
      return next(ctx.random() < 0.5 ? turn.append(user(got)) : turn);
    }
    case "stamp":
      return next(turn.append(user(`It is ${new Date(ctx.now()).toISOString()}.`)));
    case "again": {
      const result = await next(turn);
      return ctx.random() < 0.3 ? next(result.append(user("Are you sure?"))) : result;
    }
    case "back": {
      const result = await next(turn);
      return ctx.random() < 0.5 ? result.append(user("Thanks.")) : result;
    }
    default:
      return next(turn);
  }
}

const tools = (description: string) =>
  ["look-up", "charge"].map((name) =>
    tool({
      ...{ name, description, inputSchema: z.object({ of: z.string() }), idempotent: name !== "charge" },
      execute: ({ of }) => `${name} ${of}`,
    }),
  );

const configOf = ({ server, stack }: World): EngineConfig => ({
  ...{
    provider: server.provider,
    tools: tools("Does it."),
    middleware: layersOf(stack),
    mode: stack.mode,
    maxSteps: 5,
  },
  sleep: async () => undefined,
});

const engineOf = (config: EngineConfig): Engine => createEngine(config);

const edited = defineMiddleware(
  { name: "sign-off", version: "1.1.0" },
  (next) => (turn) => next(turn.insertOnce("sign-off", user("Truly, me."), 0)),
);

function plantedIn(stack: Stack): readonly Planted[] {
  const instructing = defineMiddleware({ name: "brief", version: "1.0.0" }, (next) => (turn, ctx) => {
    ctx.instructions("Take your time.");
    return next(turn);
  });
  const dicey = defineMiddleware(
    { name: "dicey", version: "1.0.0" },
    (next) => (turn) => next(turn.append(user(`It is ${Date.now()}, or ${Math.random()}.`))),
  );
  const moved = ["sign-off", ...stack.habits, "brief", "greet", "dicey"];
  const mode = stack.mode === "stateless" ? "chained" : "stateless";
  return [
    {
      kind: "edit",
      config: { middleware: layersOf(stack, { replaced: { "sign-off": edited } }) },
      culprits: ["sign-off@1.1.0"],
    },
    { kind: "drop", config: { middleware: layersOf(stack, { replaced: { greet: null } }) }, culprits: ["greet@1.0.0"] },
    {
      kind: "reorder",
      config: { middleware: layersOf(stack, { order: moved }) },
      culprits: ["greet@1.0.0", "sign-off@1.0.0"],
    },
    {
      kind: "instruction",
      config: { middleware: layersOf(stack, { replaced: { brief: instructing } }) },
      culprits: ["brief@1.0.0"],
    },
    { kind: "tool schema", config: { tools: tools("Does it well.") }, culprits: ["tool:look-up"] },
    { kind: "policy", config: { mode }, culprits: ["policy:mode"] },
    {
      kind: "nondeterminism",
      config: { middleware: layersOf(stack, { replaced: { dicey } }) },
      culprits: ["nondeterminism:dicey"],
    },
  ];
}

/** A process that began: its engine on the world's clock and ids. */
const processEngine = (world: World, changes: Partial<EngineConfig> = {}): Engine =>
  engineOf({
    ...configOf(world),
    ...changes,
    clock: () => world.clock.now,
    newId: (prefix) => {
      world.ids += 1;
      return `${prefix}_${String(world.ids).padStart(16, "0")}`;
    },
  });

/** A process that ended in the middle. */
class Crash extends Error {}

type Saying = { readonly talk: Conversation; readonly store: TurnlogStore; readonly calm?: boolean };

/** A message and its run, which may fail, be cut off and taken up again, or be parked. */
async function say(world: World, { talk, store, calm = false }: Saying): Promise<void> {
  const { random, clock, tally, server } = world;
  clock.now += random.below(60_000);
  await talk.append(`said ${random.below(1_000)}`);
  server.refusing = random.chance(0.2);
  server.failing = !calm && random.chance(0.15);
  if (!calm && random.chance(0.15)) {
    tally.handoffs += 1;
    await talk.run(processEngine(world, { provider: scripted(() => "I took over.", { prefix: "other" }) }));
    return;
  }
  const running =
    !calm && random.chance(0.25)
      ? talk.run(processEngine(world), crashAt(random.below(14)))
      : talk.run(processEngine(world));
  const outcome = await running.catch((error: unknown) => error);
  server.failing = false;
  if (!(outcome instanceof Crash)) return;
  tally["cut off"] += 1;
  if (random.chance(0.3)) return;
  const other = new TurnlogStore(store.events, { clock: () => clock.now, pause: async () => undefined });
  const resumed = await other
    .conversation(talk.id)
    .resume(processEngine(world))
    .catch(() => null);
  if (resumed?.status !== "parked") return;
  tally.parked += 1;
  if (random.chance(0.5)) return;
  for (const { blockId } of resumed.waitingFor)
    await other.conversation(talk.id).settle(blockId, { how: "result", output: "settled" });
  await other
    .conversation(talk.id)
    .resume(processEngine(world))
    .catch(() => null);
}

function crashAt(stop: number): object {
  let seen = 0;
  return interceptedBy(async () => {
    seen += 1;
    if (seen > stop) throw new Crash("the process died");
    return null;
  }, {});
}

type Spoiling = Pick<World, "random" | "tally"> & {
  readonly store: TurnlogStore;
  readonly talks: readonly Conversation[];
  readonly damage: ReturnType<typeof createDamagingStore>["damage"];
};

/** Erases what was said in one conversation, and damages an event of another, which an operator may skip. */
async function spoil({ store, talks, random, tally, damage }: Spoiling): Promise<void> {
  for (const talk of talks)
    for await (const { event, frame } of store.conversation(talk.id).events())
      if (event.type === "InferenceRequested" && frame?.includes("a") === true) tally.asides += 1;
  const gone = talks.at(-1);
  if (gone !== undefined && random.chance(0.4)) {
    const turn = await store.conversation(gone.id).turn();
    const block = turn.blocks.find(({ kind }) => kind === "user");
    if (block?.id != null) {
      const target = { blocks: [{ conversation: gone.id, block: block.id }] };
      try {
        await store.erase(await store.planErasure(target), { by: "dpo", ground: "asked" });
        tally.erased += 1;
      } catch {
        // A run is open there.
      }
    }
  }
  const victim = talks.at(1);
  if (victim === undefined || victim === gone || !random.chance(0.5)) return;
  const events = [];
  for await (const recorded of store.conversation(victim.id).events()) events.push(recorded);
  const hit = events.findLast(({ event }) => event.type === "ResponseReceived");
  if (hit === undefined) return;
  damage(`conversation-${victim.id}`, hit.revision, damages["a type that nobody knows"]);
  tally.damaged += 1;
  if (random.chance(0.5)) return;
  tally.damaged -= 1;
  tally.skipped += 1;
  await store.conversation(victim.id).skipEvent(hit.revision, "half written", { allThatFollow: true });
}
