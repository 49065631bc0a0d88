import { expect, test } from "vitest";
import { anthropic } from "../../src/providers/anthropic/anthropic.ts";
import { chatCompletions } from "../../src/providers/chat/chat-completions.ts";
import { openaiResponses } from "../../src/providers/responses/openai-responses.ts";
import { cases } from "../support/cases.ts";
import { emptyTally } from "../support/coherence/tally.ts";
import { play } from "../support/coherence/world.ts";
import { type Dialect, referenceDialect } from "../support/dialect.ts";
import { chatOn, dialects } from "../support/dialects.ts";

/** Wires on which every request says something about the prompt cache that is no setting. */
const wires: readonly (readonly [string, Dialect])[] = [
  [
    "responses",
    {
      ...dialects.responses,
      provider: (baseURL, asked) =>
        openaiResponses({ ...asked, apiKey: "sk-dialect", baseURL, cacheDiagnostics: true, cacheBreakpoints: true }),
    },
  ],
  ["chat", breakpointsOn("openai")],
  ["chat-openrouter", breakpointsOn("openrouter")],
  ["anthropic", { ...dialects.anthropic, provider: messages({}) }],
  [
    "anthropic-threads",
    referenceDialect(
      { ...dialects["anthropic-threads"], provider: messages({ threads: true, cacheOnThreads: true }) },
      { takesThreadMarks: true },
    ),
  ],
];

function breakpointsOn(dialect: "openai" | "openrouter"): Dialect {
  const provider: Dialect["provider"] = (baseURL, { systemAs = "input", transport, store: _, ...asked }) => ({
    ...chatCompletions({
      ...{ ...asked, apiKey: "sk-dialect", baseURL, dialect, cacheBreakpoints: true },
      // The wire is judged as one without files.
      ...(dialect === "openrouter" ? { capabilities: { files: false } } : {}),
      transport: transport === "sse" ? "sse" : "json",
    }),
    systemAs,
  });
  return { ...chatOn(dialect, dialect === "openai" ? "chat-openai" : "chat"), provider };
}

function messages(more: { readonly threads?: true; readonly cacheOnThreads?: true }): Dialect["provider"] {
  return (baseUrl, { transport, store: _, ...asked }) =>
    anthropic({
      ...{ ...asked, ...more, apiKey: "sk-ant-dialect", baseURL: baseUrl.replace(/\/v1$/, ""), cacheDiagnostics: true },
      transport: transport === "sse" ? "sse" : "json",
      ...(more.threads === true ? {} : { capabilities: { reasoningPrefix: "ignore" } }),
    });
}

const wanted = cases(12, 30_000, 120);

test.each(wires)(
  "%s: with breakpoints and an earlier answer to compare with, every request shows the model exactly the outgoing Turn",
  { timeout: 36_000_000 },
  async (name, dialect) => {
    const tally = emptyTally();
    await play(dialect, { requests: wanted, tally });
    console.info(
      `coherence of ${name} with members about the cache: ${tally.requests} requests, ${tally.incoherent.length} incoherent`,
    );
    expect(tally.incoherent).toEqual([]);
    expect(tally.requests).toBeGreaterThanOrEqual(wanted);
  },
);
