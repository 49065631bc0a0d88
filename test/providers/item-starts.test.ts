import { expect, test } from "vitest";
import * as z from "zod";
import { functionCall, message, reasoning, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { createEngine, openStore, type RunPart, tool } from "../../src/index.ts";
import { rehearsalProviders } from "../../src/testing/rehearsal/ports.ts";
import { rehearsedProviders } from "../../src/testing/rehearsal/rehearsed-providers.ts";

const look = tool({
  ...{ name: "look", description: "Looks.", inputSchema: z.object({ of: z.string() }) },
  execute: ({ of }) => `seen ${of}`,
});

const kinds = { "text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool-call" } as const;

/** The parts of a run whose model thinks, calls twice at once, and then answers. */
async function partsOf(
  name: (typeof rehearsalProviders)[number],
  transport: "sse" | "json" | "websocket",
): Promise<readonly RunPart[]> {
  const { server: dialect, provider, hasOwnTools } = rehearsedProviders[name];
  await using server = await startReferenceServer({
    ...{ ...dialect, seed: "items", deltaLength: 4 },
    answer: ({ request }) => ({
      output:
        request === 0 && hasOwnTools !== true
          ? [
              reasoning({ summary: "I have to look." }),
              ...["here", "there"].map((of) => functionCall("look", `{"of":"${of}"}`)),
            ]
          : [reasoning({ summary: "I have seen it." }), message("It is sunny.")],
    }),
  });
  const engine = createEngine({
    provider: provider(server.baseUrl, transport),
    tools: hasOwnTools === true ? [] : [look],
  });
  await using store = await openStore("memory:");
  const conversation = store.conversation();
  await conversation.append("How is the weather?");
  const parts: RunPart[] = [];
  for await (const part of conversation.stream(engine)) parts.push(part);
  return parts;
}

const modes = rehearsalProviders.flatMap((name) => {
  const transports = [
    "sse",
    ...(name === "claude-cli" ? [] : ["json"]),
    ...(rehearsedProviders[name].hasWebSocket === true ? ["websocket"] : []),
  ];
  return transports.map((transport) => [name, transport as "sse" | "json" | "websocket"] as const);
});

test.each(modes)(
  "%s over %s: an item is announced once, before its first delta, and a call by its name",
  async (name, transport) => {
    const parts = await partsOf(name, transport);
    const begun = new Set<string>();
    let deltas = 0;
    for (const part of parts) {
      if (part.type === "item-start") {
        const item = `${part.frame} ${part.outputIndex} ${part.kind}`;
        expect(begun).not.toContain(item);
        begun.add(item);
      }
      if (part.type === "text-delta" || part.type === "reasoning-delta" || part.type === "tool-call-delta") {
        expect(begun).toContain(`${part.frame} ${part.outputIndex} ${kinds[part.type]}`);
        deltas += 1;
      }
    }
    expect(deltas).toBeGreaterThan(0);
    const called = parts.flatMap((part) =>
      part.type === "block" && part.block.kind === "tool_call" ? [part.block] : [],
    );
    const announced = parts.flatMap((part) => (part.type === "item-start" && part.kind === "tool-call" ? [part] : []));
    expect(announced.map((start) => start.name)).toEqual(called.map((call) => call.name));
    expect(called).toHaveLength(rehearsedProviders[name].hasOwnTools === true ? 0 : 2);
    // Some wires have no ids of calls: turnlog makes those with the answer.
    for (const [n, { callId }] of announced.entries()) if (callId !== undefined) expect(callId).toBe(called[n]?.callId);
  },
);
