import { expect, test } from "vitest";
import { hasRecordings, needsRecordings, recordedExchanges } from "../support/providers/recorded-cases.ts";

const exchanges = hasRecordings ? ["anthropic", "google"].flatMap((name) => recordedExchanges(name)) : [];

/** What the exchanges of both files are, and where each is tested. */
const kinds = [
  { kind: "messages", matches: /^anthropic POST \S*\/messages$/, count: 115 },
  { kind: "contents of Gemini", matches: /^google POST \S*:(g|streamG)enerateContent$/, count: 131 },
  { kind: "chat completions", matches: /^openai POST \S*\/chat\/completions$/, count: 2 },
  // Their requests are tested with the messages; their answers are counts and nothing that a model says.
  { kind: "counts of tokens, whose answers hold no content", matches: /^anthropic POST \S*\/count_tokens$/, count: 2 },
  // No provider here asks for these: what is cached under a name is nothing that turnlog sees.
  {
    kind: "contents that are cached under a name: not tested",
    matches: /^google (POST|DELETE) \S*\/cachedContents/,
    count: 2,
  },
] as const;

test.skipIf(!hasRecordings)(
  `every recorded exchange of both files is of a kind that is tested, or named${needsRecordings}`,
  () => {
    const requests = exchanges.map(
      ({ provider, method, path }) => `${provider} ${method} ${path.replace(/\?.*$/, "")}`,
    );
    expect(requests.filter((request) => !kinds.some(({ matches }) => matches.test(request)))).toEqual([]);
    const found = kinds.map(({ kind, matches }) => [kind, requests.filter((request) => matches.test(request)).length]);
    expect(found).toEqual(kinds.map(({ kind, count }) => [kind, count]));
    // None of them is an error: those are in the catalogues of the providers' tests.
    expect(exchanges.filter(({ status }) => status !== 200)).toEqual([]);
  },
);
