import { expect, test } from "vitest";
import { callFailureOf } from "../../../src/integrations/mcp/call-failure.ts";

const error = (message: string, fields: object = {}): Error => Object.assign(new Error(message), fields);
const network = (code: string): Error => new TypeError("fetch failed", { cause: error(code, { code }) });

test.each([
  ["version 1 without a connection", error("Not connected"), "unsent", true],
  [
    "version 1 after a closed connection",
    error("MCP error -32000: Connection closed", { code: -32_000 }),
    "unknown",
    true,
  ],
  ["version 1 after its time", error("MCP error -32001: Request timed out", { code: -32_001 }), "unknown", false],
  ["a session that the server lost", error("Error POSTing to endpoint", { status: 404 }), "unsent", true],
  ["the same as version 1 says it", error("Error POSTing to endpoint", { code: 404 }), "unsent", true],
  [
    "the same beside its data",
    error("Error POSTing to endpoint", { code: "X", data: { status: 404 } }),
    "unsent",
    true,
  ],
  ["a refused authorization", error("Unauthorized", { status: 401 }), "unsent", false],
  ["a proxy that gave up waiting", error("Bad gateway", { status: 502 }), "unknown", false],
  ["a request that came too slowly", error("Request timeout", { status: 408 }), "unknown", false],
  ["an address where no server listens", network("ECONNREFUSED"), "unsent", true],
  ["a connection that was reset", network("ECONNRESET"), "unknown", false],
  ["an unknown tool", error("Tool x not found", { code: -32_602 }), "answered", false],
  ["a fault of the server", error("Internal error", { code: -32_603 }), "answered", false],
  ["an answer that cannot be read", error("Invalid result", { code: "INVALID_RESULT" }), "ran", false],
  ["what is no error", "nothing", "unknown", false],
] as const)("%s is classified by what is known of the call", (_, thrown, outcome, isDisconnected) => {
  expect(callFailureOf(thrown)).toMatchObject({ outcome, isDisconnected });
});
