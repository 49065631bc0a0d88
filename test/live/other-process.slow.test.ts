import { join } from "node:path";
import { expect, test } from "vitest";
import { outcomeOf, outsideOfVitest, startAside } from "../support/process.ts";
import { scenarios } from "./scenarios.ts";

const root = join(import.meta.dirname, "..", "..");
const key = "key-of-the-environment";

/** How a test run of its own ends that has the scenarios and this environment, and what it says of the endpoint. */
async function played(environment: Readonly<Record<string, string>>) {
  const words = [
    "run",
    "test/live/responses.test.ts",
    ...["--project", "unit"],
    "--reporter",
    "verbose",
    "--reporter",
    "./test/support/closing-line.ts",
  ];
  const { code, stdout } = await outcomeOf(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...words], {
    cwd: root,
    env: { ...outsideOfVitest, CI: "", NO_COLOR: "1", ...environment },
  });
  const lines = stdout.trimEnd().split("\n");
  return { code, endpoint: lines.filter((line) => /real endpoint|the endpoint at/.test(line)), last: lines.at(-1) };
}

test("with a key in the environment the scenarios are played against another process, which takes that key only", async () => {
  const server = startAside("live/server-process.ts", [key]);
  const [url = ""] = await server.readTo(/^http/);
  const environment = { TURNLOG_LIVE_KEY: key, TURNLOG_LIVE_URL: url, TURNLOG_LIVE_AZURE: "1" };
  const { code, endpoint, last } = await played(environment);
  server.leave();
  await server.closed;
  const passed = endpoint.filter((line) => line.includes("✓") && line.includes(`the endpoint at ${url} >`));
  expect(passed).toHaveLength(scenarios.length);
  expect({ code, last }).toEqual({ code: 0, last: `${3 * scenarios.length + 1} passed, 0 failed, 0 skipped` });
});

test("in a CI they are skipped with one line that is counted, whatever key there is", async () => {
  const { code, endpoint, last } = await played({ TURNLOG_LIVE_KEY: key, CI: "true" });
  expect(endpoint).toEqual([
    expect.stringContaining(`${scenarios.length} scenarios against a real endpoint (skipped:`),
  ]);
  expect({ code, last }).toEqual({ code: 0, last: `${2 * scenarios.length + 1} passed, 0 failed, 1 skipped` });
});
