import { expect, test } from "vitest";
import * as z from "zod";
import { defineConfig } from "../../../src/apps/config/config.ts";
import { secretReference } from "../../../src/domain/secret-reference.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { tool } from "../../../src/engine/ports/tool.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";

const greet = tool<{ readonly name: string }, string, { readonly user: string }>({
  name: "greet",
  description: "Greets",
  inputSchema: z.object({ name: z.string() }),
  execute: ({ name }, { context }) => `${context.user} greets ${name}`,
});

test("the compiler takes every form of an entry, and refuses mistakes in each", () => {
  const config = defineConfig({
    providers: {
      open: { wire: "responses", model: "m", apiKey: { env: "KEY" }, queryParams: { a: { env: "A" } }, store: false },
      azure: { wire: "azure-chat", model: "m", endpoint: { env: "PLACE" }, headers: { a: { env: "A" }, b: "b" } },
      cli: { wire: "claude-cli", env: { ANTHROPIC_API_KEY: { env: "KEY" } } },
      hidden: { wire: "chat", model: "m", user: secretReference("USER"), secrets: { USER: { env: "USER_ID" } } },
      made: scripted(["Hello."]),
    },
    engines: {
      file: "./agent.ts",
      made: createEngine({ provider: scripted([]), tools: [greet] }),
      later: async () => createEngine({ provider: scripted([]) }),
      settings: { provider: "open", tools: [greet], context: { user: "Ann" }, mode: "auto" },
    },
    prices: { prices: "./prices.json", priceAs: { m: "gpt-5.4" } },
  });
  expect(Object.keys(config)).toEqual(["providers", "engines", "prices"]);
  defineConfig({
    providers: {
      // @ts-expect-error -- no such wire
      a: { wire: "response", model: "m" },
      // @ts-expect-error -- Claude's command line has no address
      b: { wire: "claude-cli", baseURL: "http://h" },
      // @ts-expect-error -- not a variable
      c: { wire: "chat", model: "m", apiKey: { variable: "KEY" } },
    },
    engines: {
      // @ts-expect-error -- no such option
      d: { provider: "open", maxStep: 1 },
    },
  });
});
