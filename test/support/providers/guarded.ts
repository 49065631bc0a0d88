import type { Provider } from "../../../src/engine/ports/provider.ts";
import { circuitBreaker } from "../../../src/providers/resilience/circuit-breaker.ts";
import { rateLimit } from "../../../src/providers/resilience/rate-limit.ts";
import type { RateLimiter } from "../../../src/providers/resilience/reservations.ts";
import { timeout } from "../../../src/providers/resilience/timeout.ts";

/** The answer of a limiter that has too few points left until then. */
export const tooFewPoints = (msBeforeNext: number): Promise<never> =>
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- rate-limiter-flexible rejects with an object that is no error
  Promise.reject({ msBeforeNext });

/** A limiter that refuses every third request, and says that the next one may come at once. */
export function everyThird(): RateLimiter {
  let asked = 0;
  return {
    async consume() {
      asked += 1;
      return asked % 3 === 0 ? tooFewPoints(0) : null;
    },
  };
}

/** A provider within all wrappers, of which only the limiter ever refuses. */
export const guarded = <Given extends Provider>(provider: Given, limiter: RateLimiter): Given =>
  circuitBreaker(rateLimit(timeout(provider, { timeoutMs: 500_000 }), { limiter }), { failures: 1_000 });
