import { expectWholeTurns } from "../engine/inference/whole-turns.ts";
import { type Mode, modes } from "../engine/stack/chain-policy.ts";
import { createEngine, type EngineConfig } from "../engine/stack/create-engine.ts";
import type { Engine } from "../engine/stack/engine.ts";
import { modeProblem } from "../engine/stack/engine-checks.ts";
import type { Provider } from "../engine/stack/provider.ts";
import { drawFrom } from "./draw.ts";
import type { Entry } from "./entries.ts";
import type { RehearsalParts, RehearsalPlayer, RehearsalServer, RehearsalTransport } from "./ports.ts";
import { editingLayer, measuringLayer, type Stage } from "./stage.ts";

/** A provider that takes part in a rehearsal, with what is known of it. */
export type Player = {
  /** What each request's mode is drawn from; null where all are the engine's. */
  readonly modes: readonly [Mode, ...Mode[]] | null;
  readonly engine: Engine;
  /** Goes on with another engine, as another process does: connections are gone with the one before it. */
  readonly renew: () => Promise<void>;
  readonly server: RehearsalServer;
  readonly showsReasoning: boolean;
  /** What is on record of a thing that its model answered. */
  readonly records: (answered: Entry) => readonly Entry[];
  /** What it is told of an entry; null: nothing. */
  readonly takes: (entry: Entry) => Entry | null;
};

/** Those that take part in one conversation. */
export type Cast = readonly [Player, ...Player[]];

type PlayersOptions = {
  readonly mode: Mode;
  readonly transport?: RehearsalTransport | undefined;
  readonly switchModes?: boolean;
  readonly sources?: Pick<EngineConfig, "clock" | "newId">;
  readonly stage: Stage;
  /** What the model says next, whoever is asked. */
  readonly answer: () => readonly Entry[];
};

/** Starts a server and an engine for each provider that takes part; they end together. */
export async function openPlayers(
  parts: RehearsalParts,
  options: PlayersOptions,
): Promise<AsyncDisposable & { readonly all: Cast }> {
  const opened: AsyncDisposable[] = [];
  const close = async (): Promise<void> => {
    for (const each of opened.toReversed()) await each[Symbol.asyncDispose]();
  };
  const isAlone = parts.others === undefined;
  try {
    const all: [Player, ...Player[]] = [await openPlayer(parts, { ...options, isAlone }, opened)];
    for (const other of parts.others ?? []) all.push(await openPlayer(other, { ...options, isAlone }, opened));
    return { all, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openPlayer(
  part: RehearsalPlayer,
  options: PlayersOptions & { readonly isAlone: boolean },
  opened: AsyncDisposable[],
): Promise<Player> {
  const { mode, transport = "sse", switchModes = false, sources, stage, answer, isAlone } = options;
  const server = await part.startServer(answer);
  opened.push(server);
  const open = (): Engine => {
    const provider = part.provider(server, transport);
    const middleware = [editingLayer(stage), measuringLayer(stage, provider)];
    // One of several that cannot do what is asked for takes part as it can.
    const own = isAlone || modeProblem(mode, provider) === null ? mode : "stateless";
    const engine = createEngine({ provider, mode: own, middleware, ...sources });
    expectWholeTurns(engine);
    return engine;
  };
  let engine = open();
  opened.push({ [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() });
  const { showsReasoning = true, records = (each: Entry) => [each], takes = (each: Entry) => each } = part;
  return {
    ...{ server, modes: switchModes ? modesOf(engine.options.provider) : null, showsReasoning, records, takes },
    get engine() {
      return engine;
    },
    async renew() {
      await engine[Symbol.asyncDispose]();
      engine = open();
    },
  };
}

/** The modes that a rehearsal switches between: those that the endpoint can do. */
function modesOf(provider: Provider): readonly [Mode, ...Mode[]] {
  return ["auto", ...modes.filter((mode) => mode !== "auto" && modeProblem(mode, provider) === null)];
}

/** How many providers a conversation is handed between: so few that it comes back to those that it has left. */
const maxCast = 3;

/** Who takes part in a conversation: the first, and some that are drawn. The conversation begins with any of them. */
export function castOf([first, ...others]: Cast, seed: string, conversation: string): Cast {
  const draw = drawFrom("cast", seed, conversation);
  const left = [...others];
  const cast: Player[] = [];
  while (cast.length < maxCast - 1 && left.length > 0) cast.push(...left.splice(draw.below(left.length), 1));
  cast.splice(draw.below(cast.length + 1), 0, first);
  const [one = first, ...rest] = cast;
  return [one, ...rest];
}

/** Who is asked next: for half of the requests another provider than before. */
export function drawPlayer(
  cast: Cast,
  at: { readonly seed: string; readonly conversation: string; readonly request: number },
  before: Player,
): Player {
  const [other, ...more] = cast.filter((player) => player !== before);
  const draw = drawFrom("provider", at.seed, at.conversation, at.request);
  return other === undefined || at.request === 0 || draw.chance(0.5) ? before : draw.pick([other, ...more]);
}
