import { expect, test } from "vitest";
import type { ChatDocument } from "../../../src/testing/rehearsal/chat-format.ts";
import { generateDocuments } from "../../../src/testing/rehearsal/generate.ts";
import type { Incoherence } from "../../../src/testing/rehearsal/play.ts";
import { type RehearsalParts, rehearsalProviders } from "../../../src/testing/rehearsal/ports.ts";
import { rehearsalParts } from "../../../src/testing/rehearsal/reference-parts.ts";
import { rehearse } from "../../../src/testing/rehearsal/rehearse.ts";
import { handedBetween, rehearsedProviders } from "../../../src/testing/rehearsal/rehearsed-providers.ts";
import { firstSeed, isLong, isRound } from "../../support/cases.ts";
import { everyForm } from "../../support/rehearsal/every-form.ts";
import { replaying } from "../../support/rehearsal/playing.ts";

/** The same parts, of whose conversations every event is checked and every request made again, byte for byte. */
function verifying(parts: RehearsalParts): RehearsalParts {
  return {
    ...parts,
    async closeStore(store) {
      const { problems, requests } = await store.verify();
      expect(problems).toEqual([]);
      expect(requests).toBeGreaterThan(0);
      await parts.closeStore(store);
    },
  };
}

/** Where there is little time a wire plays as few conversations as have all that is looked for; in the rounds of CI with other edits each time. */
const isBrief = !isLong && !isRound;
const copies = isBrief ? 1 : 4;

/** The same conversations and edits would say the same on either transport: each plays a half of them, and all where there is time. */
const conversations = [...generateDocuments("shapes", 2 * copies)];
const [some, others] = isLong
  ? [conversations, conversations]
  : [conversations.slice(0, copies), conversations.slice(copies)];

test.each(rehearsalProviders)("%s: every request is accepted, and reads what it has to read", async (provider) => {
  const { mode = "chained", showsReasoning = true } = rehearsedProviders[provider];
  const plays = [
    ["sse", 0, some],
    ["json", 0.5, some],
    ["sse", 0.5, others],
  ] as const;
  for (const [transport, editRate, documents] of plays.slice(0, isBrief ? 2 : plays.length)) {
    const incoherent: Incoherence[] = [];
    const figures = await rehearse(documents, verifying(replaying(rehearsalParts(null, provider))), {
      ...{
        seed: String(firstSeed),
        edits: "all",
        parallel: true,
        reasoning: showsReasoning,
        editRate,
        transport,
        mode,
      },
      onIncoherence: (each) => incoherent.push(each),
    });
    expect(incoherent).toEqual([]);
    expect(figures.requests).toBeGreaterThan(3 * copies);
    // Where nothing is edited, every request but a conversation's first goes on from the one before.
    if (mode === "chained" && editRate === 0) expect(figures.full + figures.rebased).toBe(figures.conversations);
  }
});

test("a conversation that nothing edits is one thread: every request after the first continues it", async () => {
  const conversations = 2 * copies;
  const { requests, chained, incoherent, bytesSent } = await rehearse(
    generateDocuments("threads", conversations),
    verifying(replaying(rehearsalParts(null, "anthropic-threads"))),
    {
      ...{ seed: "1", edits: "all", parallel: true, reasoning: false, editRate: 0, transport: "json", mode: "chained" },
      onIncoherence: () => undefined,
    },
  );
  expect(incoherent).toBe(0);
  expect(bytesSent).toBeGreaterThan(0);
  expect(requests - chained).toBe(conversations);
});

/** What a user may show beside words, in a conversation of every provider's. */
const shown: ChatDocument = {
  id: "shown",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "Look and listen." },
        { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
        { type: "image_url", image_url: { url: "https://here.example/dog.png?size=1" } },
        { type: "image_url", image_url: { url: "https://here.example/dog" } },
        { type: "file", file: { file_id: "file-1" } },
        { type: "input_audio", input_audio: { data: "aGk=", format: "wav" } },
      ],
    },
    { role: "assistant", content: "I see a dog." },
    {
      role: "user",
      content: [
        { type: "input_audio", input_audio: { data: "aG8=", format: "wav" } },
        { type: "text", text: "And now?" },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "A cat." }] },
    { role: "user", content: "Thank you." },
    { role: "assistant", content: "Not at all." },
  ],
};

// The Claude CLI is given a Turn that was edited as one text, which says everything.
test.each(rehearsalProviders.filter((name) => name !== "claude-cli"))(
  "%s: of what it cannot say the rest of the message is read",
  async (provider) => {
    const { mode = "chained" } = rehearsedProviders[provider];
    for (const editRate of [0, 0.5]) {
      const incoherent: Incoherence[] = [];
      const { requests } = await rehearse(
        Array.from({ length: copies }, (_, n) => ({ ...shown, id: `shown ${n}` })),
        verifying(replaying(rehearsalParts(null, provider))),
        {
          ...{ seed: "1", edits: "all", parallel: false, reasoning: false, editRate, transport: "json", mode },
          onIncoherence: (each) => incoherent.push(each),
        },
      );
      expect(incoherent).toEqual([]);
      expect(requests).toBeGreaterThan(copies);
    }
  },
);

// Where a provider takes the Turn's leading system messages as instructions, one behind reasoning does not lead, though the reasoning is not sent.
test.each([
  ["google", 62],
  ["google-interactions", 62],
  ["claude-cli", 17],
] as const)("%s: a system message behind reasoning that is left out is no instruction", async (provider, place) => {
  const { mode = "chained" } = rehearsedProviders[provider];
  const incoherent: Incoherence[] = [];
  const [document] = [...generateDocuments("12", place + 1)].slice(-1);
  const figures = await rehearse(document === undefined ? [] : [document], rehearsalParts(null, provider), {
    ...{ seed: "1", edits: "all", editRate: 0.5, parallel: true, reasoning: true, transport: "json", mode },
    onIncoherence: (each) => incoherent.push(each),
  });
  expect(incoherent).toEqual([]);
  expect(figures.requests).toBeGreaterThan(5);
});

test.each(rehearsalProviders)("%s: parts, files and refusals are read as its wire has them", async (provider) => {
  const { mode = "chained", showsReasoning = true } = rehearsedProviders[provider];
  const incoherent: Incoherence[] = [];
  for (const editRate of [0, 0.7]) {
    const documents = Array.from({ length: copies }, (_, n) => ({ ...everyForm, id: `every form ${n}` }));
    const { requests, conversations } = await rehearse(
      documents,
      verifying(replaying(rehearsalParts(null, provider))),
      {
        ...{ seed: "9", edits: "all", parallel: true, reasoning: showsReasoning, editRate, transport: "json", mode },
        onIncoherence: (each) => incoherent.push(each),
      },
    );
    const each = rehearsedProviders[provider].hasOwnTools === true ? 3 : 5;
    expect([conversations, requests]).toEqual([copies, copies * each]);
  }
  expect(incoherent).toEqual([]);
});

test("parts, files and refusals are handed over between all providers", async () => {
  const incoherent: Incoherence[] = [];
  const documents = Array.from({ length: 6 * copies }, (_, n) => ({ ...everyForm, id: `every form ${n}` }));
  const figures = await rehearse(documents, verifying(rehearsalParts(null, ...handedBetween)), {
    ...{ seed: "3", edits: "all", parallel: true, reasoning: true, editRate: 0.5, transport: "json", mode: "chained" },
    onIncoherence: (each) => incoherent.push(each),
  });
  expect(incoherent).toEqual([]);
  expect(figures.handoffs).toBeGreaterThan(5 * copies);
});
