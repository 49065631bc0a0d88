/** Wrappers of providers that keep state between requests, and the route to the next provider after a failure. */
export { type FallbackOptions, fallback } from "../engine/options/fallback.ts";
export {
  type CircuitBreakerOptions,
  type CircuitStateName,
  circuitBreaker,
} from "../providers/resilience/circuit-breaker.ts";
export { type LimitedRequest, type RateLimitOptions, rateLimit } from "../providers/resilience/rate-limit.ts";
export type { RateLimiter } from "../providers/resilience/reservations.ts";
export { type TimeoutOptions, timeout } from "../providers/resilience/timeout.ts";
