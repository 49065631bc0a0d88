import { expectWholeTurns } from "../../engine/inference/whole-turns.ts";
import { type Mode, modes } from "../../engine/options/chain-policy.ts";
import { createEngine, type EngineConfig } from "../../engine/options/create-engine.ts";
import type { Engine } from "../../engine/options/engine.ts";
import { modeProblem } from "../../engine/options/engine-checks.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { drawFrom } from "./draw.ts";
import type { Entry } from "./entries.ts";
import type { RehearsalParts, RehearsalPlayer, RehearsalServer, RehearsalTransport } from "./ports.ts";
import { editingLayer, measuringLayer, type Stage } from "./stage.ts";

/** A provider that takes part in a rehearsal, and its properties. */
export type Player = {
  /** The modes to draw from for each request; null if the engine's mode is used for all. */
  readonly modes: readonly [Mode, ...Mode[]] | null;
  readonly engine: Engine;
  /** Continues with another engine, as another process would: earlier connections are gone. */
  readonly renew: () => Promise<void>;
  readonly server: RehearsalServer;
  readonly showsReasoning: boolean;
  /** The recorded form of an entry that its model answered. */
  readonly records: (answered: Entry) => readonly Entry[];
  /** The part of an entry that it receives; null: nothing. */
  readonly takes: (entry: Entry) => Entry | null;
};

/** The players of one conversation. */
export type Cast = readonly [Player, ...Player[]];

type PlayersOptions = {
  readonly mode: Mode;
  readonly transport?: RehearsalTransport | undefined;
  readonly switchModes?: boolean;
  readonly sources?: Pick<EngineConfig, "clock" | "newId">;
  readonly stage: Stage;
  /** The model's next answer, for any player. */
  readonly answer: () => readonly Entry[];
};

/** Starts a server and an engine for each provider; they end together. */
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
    // If one of several providers does not support the mode, it takes part in `stateless`.
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

/** The modes that a rehearsal switches between: those that the endpoint supports. */
function modesOf(provider: Provider): readonly [Mode, ...Mode[]] {
  return ["auto", ...modes.filter((mode) => mode !== "auto" && modeProblem(mode, provider) === null)];
}

/** The maximum number of providers in a conversation: few enough that it returns to earlier ones. */
const maxCast = 3;

/** The players of a conversation: the first, and some that are drawn. Any of them may begin. */
export function castOf([first, ...others]: Cast, seed: string, conversation: string): Cast {
  const draw = drawFrom("cast", seed, conversation);
  const left = [...others];
  const cast: Player[] = [];
  while (cast.length < maxCast - 1 && left.length > 0) cast.push(...left.splice(draw.below(left.length), 1));
  cast.splice(draw.below(cast.length + 1), 0, first);
  const [one = first, ...rest] = cast;
  return [one, ...rest];
}

/** The player for the next request: for half of the requests another one than before. */
export function drawPlayer(
  cast: Cast,
  at: { readonly seed: string; readonly conversation: string; readonly request: number },
  before: Player,
): Player {
  const [other, ...more] = cast.filter((player) => player !== before);
  const draw = drawFrom("provider", at.seed, at.conversation, at.request);
  return other === undefined || at.request === 0 || draw.chance(0.5) ? before : draw.pick([other, ...more]);
}
