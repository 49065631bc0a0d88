import type { JsonValue } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Settings } from "../ports/codec.ts";
import type { Provider } from "../ports/provider.ts";
import type { ProviderError } from "../ports/provider-error.ts";

/** What a router knows about the request that it chooses a provider for. */
export type RouteQuestion = {
  /** The Turn for the model, as it left the innermost layer. */
  readonly turn: Turn;
  /** The step of the run, from 0. */
  readonly step: number;
  /** What the conversation has used so far, this run included, by the providers' counts. */
  readonly usage: { readonly totalTokens: number };
  /** The providers that have failed at this step, in order; empty at the first call. */
  readonly failed: readonly FailedProvider[];
};

export type FailedProvider = { readonly provider: Provider; readonly error: ProviderError };

/**
 * Chooses the provider of a step: `provider`, or one of `otherProviders`; null means `provider`. If that provider fails for good,
 * the router is called again. Another provider then takes over the step; the same one, or null, lets the failure stand.
 */
export type Route = (question: RouteQuestion) => Provider | null;

/** The parts of an engine that depend on the chosen provider. */
export type RoutedProvider = {
  readonly provider: Provider;
  readonly settings: Settings;
  readonly laterSettings: Settings;
  readonly learned: Map<string, JsonValue>;
};

/** The other providers that a router may choose, by the names under which the log records them. */
export type Routing = { readonly choose: Route; readonly others: ReadonlyMap<string, RoutedProvider> };

type Routed = { readonly provider: Provider; readonly routing: Routing | null };

/** All providers of an engine, its own first. */
export const providersOf = ({ provider, routing }: Routed): readonly Provider[] => [
  provider,
  ...[...(routing?.others.values() ?? [])].map((other) => other.provider),
];

/**
 * The router's choice, by the name under which the log records it; null for the engine's own provider.
 *
 * @throws {TypeError} if it is not one of the engine's providers.
 */
export function chosenRoute(engine: Routed, question: RouteQuestion): string | null {
  const { provider, routing } = engine;
  const chosen: unknown = routing?.choose(question) ?? null;
  if (chosen === null || chosen === provider) return null;
  for (const [name, other] of routing?.others ?? []) if (other.provider === chosen) return name;
  const names = ["provider", ...(routing?.others.keys() ?? [])].join(", ");
  throw new TypeError(
    `route returned ${kindOf(chosen)}, which is not one of the engine's providers: return ${names}, or null`,
  );
}
