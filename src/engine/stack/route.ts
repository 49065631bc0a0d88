import type { JsonValue } from "../../base/json.ts";
import { kindOf } from "../../base/options.ts";
import type { Turn } from "../../domain/turn.ts";
import type { Settings } from "./codec.ts";
import type { Provider, ProviderError } from "./provider.ts";

/** What a router knows of the request that it chooses a provider for. */
export type RouteQuestion = {
  /** What the model is meant to see: the Turn that left the innermost layer. */
  readonly turn: Turn;
  /** Which step of the run it is, from 0. */
  readonly step: number;
  /** What the conversation has used so far, this run included, as its providers counted. */
  readonly usage: { readonly totalTokens: number };
  /** The providers that failed at this step already, in order; empty when it is first asked. */
  readonly failed: readonly FailedProvider[];
};

export type FailedProvider = { readonly provider: Provider; readonly error: ProviderError };

/**
 * Says who answers a step: `provider`, or one of `otherProviders`; null is `provider`. Where that one fails for good, it is asked again,
 * and another provider gets the step: the same one again, or null, lets the failure stand.
 */
export type Route = (question: RouteQuestion) => Provider | null;

/** What of an engine depends on who is asked. */
export type RoutedProvider = {
  readonly provider: Provider;
  readonly settings: Settings;
  readonly laterSettings: Settings;
  readonly learned: Map<string, JsonValue>;
};

/** The providers that a router chooses from, beside the engine's own, by the names that the log has them by. */
export type Routing = { readonly choose: Route; readonly others: ReadonlyMap<string, RoutedProvider> };

type Routed = { readonly provider: Provider; readonly routing: Routing | null };

/** All providers of an engine, its own first. */
export const providersOf = ({ provider, routing }: Routed): readonly Provider[] => [
  provider,
  ...[...(routing?.others.values() ?? [])].map((other) => other.provider),
];

/**
 * Whom a router chose, by the name that the log has it by; null for the engine's own provider.
 *
 * @throws {TypeError} for what is none of the engine's providers.
 */
export function chosenRoute(engine: Routed, question: RouteQuestion): string | null {
  const { provider, routing } = engine;
  const chosen: unknown = routing?.choose(question) ?? null;
  if (chosen === null || chosen === provider) return null;
  for (const [name, other] of routing?.others ?? []) if (other.provider === chosen) return name;
  const names = ["provider", ...(routing?.others.keys() ?? [])].join(", ");
  throw new TypeError(`route gave ${kindOf(chosen)}, and none of the engine's providers: give ${names}, or null`);
}
