import type { PlantedFault } from "./planted-fault.ts";

/** What is around providers, and tools that other programs have. */
export const outsideFaults: readonly PlantedFault[] = [
  {
    of: "a wrapper calls functions of a provider without the provider",
    file: "src/providers/resilience/around.ts",
    find: "Reflect.apply(member, provider, given)",
    put: "Reflect.apply(member, wrapped, given)",
    suite: "providers/resilience/members",
  },
  {
    of: "a request that its caller gave up closes a circuit",
    file: "src/providers/resilience/circuit-breaker.ts",
    find: "if (error instanceof Abandoned) return policy.state === CircuitState.HalfOpen;",
    put: "if (error instanceof Abandoned) return false;",
    suite: "providers/resilience/circuit-breaker",
  },
  {
    of: "a refused request keeps its points",
    file: "src/providers/resilience/reservations.ts",
    find: "await this.#giveBack(points, refusal);",
    put: "",
    suite: "providers/resilience/rate-limit",
  },
  {
    of: "a failure with an unknown outcome is paid twice unasked",
    file: "src/engine/options/fallback.ts",
    find: 'error.outcome === "rejected" || unknownOutcome',
    put: "true",
    suite: "engine/inference/fallback-route",
  },
  {
    of: "a tool that does not know its outcome reports an error to the model",
    file: "src/engine/effects/run-tool.ts",
    find: "if (isToolInDoubt(ended.error) && !tool.idempotent) throw ended.error;",
    put: "",
    suite: "engine/effects/tool-in-doubt",
  },
  {
    of: "a call that may have run is made again over a new connection",
    file: "src/integrations/mcp/connection.ts",
    find: '(calling.isIdempotent && failure.outcome === "unknown")',
    put: 'failure.outcome === "unknown"',
    suite: "integrations/mcp/mcp-failures",
  },
  {
    of: "a tool that its server changed is called over a new connection",
    file: "src/integrations/mcp/connection.ts",
    find: "digestOf(now) !== digestOf(tool)",
    put: "false",
    suite: "integrations/mcp/mcp-failures",
  },
];
