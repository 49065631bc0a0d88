import { randomId } from "./ids.ts";
import type { Layer } from "./middleware.ts";
import { type ChainPolicy, defaultChainPolicy } from "./planner/plan.ts";
import type { Provider } from "./provider.ts";
import type { RunPart } from "./stream-part.ts";
import type { Tool } from "./tool.ts";
import { toolLoop } from "./tool-loop.ts";

/** Everything a run needs besides its conversation. */
export type EngineOptions = {
  readonly provider: Provider;
  /** The whole stack, outermost first; the tool loop stands in it. */
  readonly layers: readonly Layer[];
  /** Tools that the requests offer. */
  readonly tools: readonly Tool[];
  readonly chain: ChainPolicy;
  /** How long a layer may work on its own before the run fails and names it. */
  readonly layerTimeoutMs: number;
  /** How long an owner of another process may be silent before its run counts as abandoned. */
  readonly takeoverAfterMs: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** A new id with this prefix. */
  readonly newId: (prefix: "run" | "inf") => string;
  /** What this process has seen the endpoint do, whichever conversation it was. */
  readonly learned: Map<string, boolean | string>;
  /** Get everything that runs show while they happen; what they throw is not the run's affair. */
  readonly sinks: readonly Sink[];
};

/** Where parts of runs go, as an RxJS `Subject` or any observer has it. */
export type Sink = { readonly next: (part: RunPart) => unknown };

/** What runs conversations: a provider, tools and middleware. It holds no conversation. */
export type Engine = { readonly options: EngineOptions };

export type EngineConfig = {
  readonly provider: Provider;
  readonly tools?: readonly Tool[];
  /** First listed is outermost. All of them stand within the tool loop, unless it is listed itself. */
  readonly middleware?: readonly Layer[];
  readonly chain?: ChainPolicy["mode"] | Partial<ChainPolicy>;
  /** How often the tool loop may ask the model in one run. */
  readonly iterationsMax?: number;
  readonly layerTimeoutMs?: number;
  readonly takeoverAfterMs?: number;
  readonly sinks?: readonly Sink[];
  /** For tests: a clock and ids that repeat. */
  readonly clock?: () => number;
  readonly newId?: (prefix: "run" | "inf") => string;
};

/** How long a layer may take for its own work, and how long an owner may be silent. */
const layerTimeoutMs = 10 * 60_000;
const takeoverAfterMs = 15 * 60_000;

/**
 * Puts provider, tools and middleware together. The tool loop stands outside the layers, so that every layer sees every
 * step, tool results included; listing `toolLoop(…)` in `middleware` places it elsewhere.
 */
export function createEngine(config: EngineConfig): Engine {
  const { provider, tools = [], middleware = [], chain = "auto", sinks = [] } = config;
  const policy = typeof chain === "string" ? { mode: chain } : chain;
  const hasLoop = middleware.some((layer) => layer.isEngine === true);
  const loop = tools.length === 0 || hasLoop ? [] : [toolLoop(tools, { iterationsMax: config.iterationsMax ?? 32 })];
  const layers = [...loop, ...middleware];
  const options: EngineOptions = {
    provider,
    layers,
    tools: layers.flatMap((layer) => layer.tools ?? []),
    chain: { ...defaultChainPolicy, ...policy },
    layerTimeoutMs: config.layerTimeoutMs ?? layerTimeoutMs,
    takeoverAfterMs: config.takeoverAfterMs ?? takeoverAfterMs,
    clock: config.clock ?? Date.now,
    newId: config.newId ?? randomId,
    learned: new Map(),
    sinks,
  };
  const longest = Math.max(0, ...options.tools.map(({ timeoutMs }) => timeoutMs));
  if (longest > options.takeoverAfterMs) {
    throw new RangeError(
      `a tool may run for ${longest} ms, longer than takeoverAfterMs: others would take its run over`,
    );
  }
  return { options };
}
