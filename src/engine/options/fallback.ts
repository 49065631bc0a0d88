import { checkFlag, checkFunction, kindOf, optionsOf } from "../../base/options.ts";
import type { Provider } from "../ports/provider.ts";
import type { ProviderError } from "../ports/provider-error.ts";
import { ownEffectsOf } from "./own-effects.ts";
import type { Route } from "./route.ts";

/** Options of `fallback`. */
export type FallbackOptions = {
  /**
   * Whether the next provider takes over after a failure; by default after every failure of which the server did nothing (`outcome` is
   * `rejected`).
   */
  readonly when?: (error: ProviderError) => boolean;
  /**
   * Also take over after failures with an unknown outcome: a timeout, a broken connection, a stream that was cut off. You may pay for the
   * work twice. False by default.
   */
  readonly unknownOutcome?: boolean;
};

const fallbackOptions = optionsOf<FallbackOptions>({ when: checkFunction, unknownOutcome: checkFlag });

const providersByRoute = new WeakMap<object, readonly Provider[]>();

/** The providers that a route by `fallback` may choose; none for any other route. */
export const fallbackProviders = (route: object): readonly Provider[] => providersByRoute.get(route) ?? [];

/**
 * A route that asks the first provider, and after a failure the next one in the list. The log records who was asked and why, and a run that
 * is executed again goes the recorded way. Each step begins with the first provider again: put a `circuitBreaker` around it, so that an
 * endpoint in trouble is passed over at once.
 *
 * @example
 * createEngine({ provider: claude, otherProviders: { gpt }, route: fallback([claude, gpt]) });
 * @throws {TypeError} if there are fewer than two providers, one is listed twice, an option is unknown or invalid, or `unknownOutcome` is
 *   set and a request may do more than answer.
 */
export function fallback(providers: readonly Provider[], options: FallbackOptions = {}): Route {
  checkProviders(providers);
  fallbackOptions.check("fallback", options);
  const { when = () => true, unknownOutcome = false } = options;
  if (unknownOutcome) checkEffects(providers);
  const mayFollow = (error: ProviderError): boolean => (error.outcome === "rejected" || unknownOutcome) && when(error);
  const route: Route = ({ failed }) => {
    const last = failed.at(-1);
    const [first = null] = providers;
    if (last === undefined) return first;
    if (!mayFollow(last.error)) return last.provider;
    return providers.find((provider) => !failed.some((each) => each.provider === provider)) ?? last.provider;
  };
  providersByRoute.set(route, [...providers]);
  return route;
}

function checkProviders(providers: unknown): void {
  if (!Array.isArray(providers) || providers.length < 2)
    throw new TypeError(
      `fallback takes a list of two providers or more, not ${Array.isArray(providers) ? `a list of ${providers.length}` : kindOf(providers)}: write fallback([first, second])`,
    );
  for (const [index, provider] of providers.entries()) {
    if (typeof provider !== "object" || provider === null || typeof Reflect.get(provider, "infer") !== "function")
      throw new TypeError(`fallback: providers[${index}] is ${kindOf(provider)}: give a provider`);
    if (providers.indexOf(provider) !== index)
      throw new TypeError(`fallback: providers[${index}] is listed twice: list each provider once`);
  }
}

function checkEffects(providers: readonly Provider[]): void {
  for (const { name, codec, settings } of providers) {
    const effects = ownEffectsOf(codec, settings);
    if (effects !== null)
      throw new TypeError(
        `fallback: unknownOutcome is given, but a request to the provider ${name} may do more than answer: ${effects}; leave one of the two out`,
      );
  }
}
