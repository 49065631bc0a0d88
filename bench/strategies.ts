import { utf8Length } from "../src/base/utf8.ts";
import type { EditOptions } from "../src/testing/rehearsal/edits.ts";
import type { PlayOptions } from "../src/testing/rehearsal/exchanges.ts";
import { generateDocuments } from "../src/testing/rehearsal/generate.ts";
import type { RehearsalParts } from "../src/testing/rehearsal/ports.ts";
import { rehearsalParts } from "../src/testing/rehearsal/reference-parts.ts";
import { type RehearsalOptions, rehearse } from "../src/testing/rehearsal/rehearse.ts";
import { rehearsePublished, type Verdicts } from "./published-client.ts";
import { contiguityCheck, diffById, newestOrAll, type PublishedStrategy } from "./published-strategies.ts";
import type { BenchRow } from "./row.ts";

const options = {
  seed: "strategies",
  editRate: 0.2,
  edits: "all",
  // Published clients do not document how they carry reasoning.
  reasoning: false,
  parallel: true,
} as const satisfies EditOptions & PlayOptions;

/**
 * The ways in which a client can keep a server and its Turn consistent (docs/CHAINING.md), compared on the same conversations with
 * the same random edits, each call judged by the reference server: the published designs as small functions, and the modes.
 */
export async function benchStrategies(documentCount = 60): Promise<readonly BenchRow[]> {
  const documents = [...generateDocuments(options.seed, documentCount)];
  const rows: BenchRow[] = [];
  for (const { ways, name, isCoherent, play } of strategies) {
    const counts: Counts = { requests: 0, calls: 0, items: 0, bytes: 0 };
    const began = performance.now();
    const { coherent, incoherent } = await play(documents, counted(rehearsalParts(null), counts));
    const milliseconds = performance.now() - began;
    const all = coherent + incoherent;
    rows.push({
      name: `coherent calls, ${name}`,
      ...{ value: (100 * coherent) / all, unit: "%" },
      // If a published design were always right, the edits would prove nothing.
      ...(isCoherent ? { bound: 100, kind: "at least" } : { bound: 90, kind: "at most" }),
      columns: {
        way: ways,
        strategy: name,
        calls: all,
        coherent: `${((100 * coherent) / all).toFixed(1)} %`,
        "items sent": counts.items,
        "bytes sent": counts.bytes,
        requests: counts.requests,
        "calls to objects": counts.calls,
        "ms a call": (milliseconds / all).toFixed(1),
      },
    });
  }
  return rows;
}

type Strategy = {
  readonly ways: string;
  readonly name: string;
  readonly isCoherent: boolean;
  readonly play: (documents: Documents, parts: RehearsalParts) => Promise<Verdicts>;
};
type Documents = Parameters<typeof rehearsePublished>[0];

const published = (ways: string, name: string, strategy: PublishedStrategy, isCoherent = false): Strategy => ({
  ...{ ways, name, isCoherent },
  play: (documents, parts) => rehearsePublished(documents, parts, { ...options, strategy }),
});

const engine = (ways: string, name: string, how: Pick<RehearsalOptions, "mode" | "transport">): Strategy => ({
  ...{ ways, name, isCoherent: true },
  play: (documents, parts) => rehearse(documents, parts, { ...options, transport: "json", ...how }),
});

const strategies: readonly Strategy[] = [
  published("0", "published contiguity check", contiguityCheck),
  published("1, 2, 3", "published diff by block id", diffById),
  published("2", "newest response, else everything", newestOrAll, true),
  engine("0 to 3, 5", '`mode: "chained"`', { mode: "chained" }),
  engine("0 to 3, 5", '`mode: "chained"`, WebSocket', { mode: "chained", transport: "websocket" }),
  engine("4", '`mode: "stateless"`', { mode: "stateless" }),
  engine("4", '`mode: "auto"`', { mode: "auto" }),
  engine("6", '`mode: "conversation"`', { mode: "conversation" }),
];

type Counts = { requests: number; calls: number; items: number; bytes: number };

/** Counts the requests before the server forgets them. */
function counted(parts: RehearsalParts, counts: Counts): RehearsalParts {
  return {
    ...parts,
    startServer: async (answer) => {
      const server = await parts.startServer(answer);
      return {
        baseUrl: server.baseUrl,
        get requests() {
          return server.requests;
        },
        get warmUps() {
          return server.warmUps;
        },
        get calls() {
          return server.calls;
        },
        difference: (...asked) => server.difference(...asked),
        clear: () => {
          counts.requests += server.requests.length;
          counts.calls += server.calls.length;
          for (const { bodyText } of [...server.requests, ...server.calls]) {
            counts.bytes += utf8Length(bodyText);
            counts.items += itemsIn(bodyText);
          }
          server.clear();
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}

function itemsIn(bodyText: string): number {
  // The bodies come from this bench's own clients.
  const { input = [] } = JSON.parse(bodyText === "" ? "{}" : bodyText) as { readonly input?: readonly unknown[] };
  return input.length;
}
