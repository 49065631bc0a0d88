import { expect } from "vitest";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import type { ChatDocument } from "../../../src/testing/rehearsal/chat-format.ts";
import { generateDocuments } from "../../../src/testing/rehearsal/generate.ts";
import type { Incoherence } from "../../../src/testing/rehearsal/play.ts";
import type { RehearsalParts, RehearsalServer } from "../../../src/testing/rehearsal/ports.ts";
import { rehearsalParts } from "../../../src/testing/rehearsal/reference-parts.ts";
import { type RehearsalFigures, type RehearsalOptions, rehearse } from "../../../src/testing/rehearsal/rehearse.ts";

export const quiet: RehearsalOptions = {
  seed: "1",
  editRate: 0,
  edits: "all",
  reasoning: false,
  parallel: false,
  mode: "chained",
};

import { replayed } from "../replayed.ts";

/** What a rehearsal came to, and what it said on the way. */
export type Played = {
  readonly figures: RehearsalFigures;
  readonly incoherent: readonly Incoherence[];
  /** Every body that arrived, conversation by conversation. */
  readonly bodies: readonly string[];
};

/** Rehearses a few generated conversations; `spoil` makes another provider of the one that is played with. */
export const playGenerated = (
  { count = 5, ...options }: Partial<RehearsalOptions> & { readonly count?: number },
  spoil?: (provider: Provider) => Provider,
): Promise<Played> => play(generateDocuments("shapes", count), spoil, options);

export async function play(
  documents: Iterable<ChatDocument>,
  spoil: (provider: Provider) => Provider = (provider) => provider,
  options: Partial<RehearsalOptions> = {},
): Promise<Played> {
  const incoherent: Incoherence[] = [];
  const bodies: string[] = [];
  const parts = replaying(watched(rehearsalParts(null), bodies));
  const figures = await rehearse(
    documents,
    { ...parts, provider: (server, transport) => spoil(parts.provider(server, transport)) },
    { ...quiet, ...options, onIncoherence: (incoherence) => incoherent.push(incoherence) },
  );
  return { figures, incoherent, bodies };
}

/** The same parts, whose conversations are replayed when they have been played. */
export function replaying(parts: RehearsalParts): RehearsalParts {
  return {
    ...parts,
    async closeStore(store) {
      for await (const id of store.conversations()) {
        const { difference } = await replayed(store, { id });
        expect(difference, `replay of ${id}`).toBeNull();
      }
      await parts.closeStore(store);
    },
  };
}

/** The same parts, whose server keeps what it got when it is cleared. */
function watched(parts: RehearsalParts, bodies: string[]): RehearsalParts {
  return {
    ...parts,
    async startServer(answer) {
      const server = await parts.startServer(answer);
      const kept: RehearsalServer = {
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
        clear() {
          bodies.push(...server.requests.map(({ bodyText }) => bodyText));
          server.clear();
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
      return kept;
    },
  };
}

export type Item = {
  readonly type?: string;
  readonly role?: string;
  readonly call_id?: string;
  readonly output?: unknown;
  readonly encrypted_content?: string;
};
export type Body = {
  readonly [setting: string]: unknown;
  readonly input: readonly Item[];
  readonly previous_response_id?: string;
};

/** A body that the engine made. */
export function bodyOf(text: string): Body {
  // The engine's encoder writes these members, and every change of the text kept them.
  return JSON.parse(text) as Body;
}

/** A provider that sends another body than it was given; bodies count from 0. */
export function sending(provider: Provider, change: (body: Body, n: number) => Body): Provider {
  let sent = 0;
  return {
    ...provider,
    infer(request) {
      const changed = change(bodyOf(request.bodyText), sent);
      sent += 1;
      return provider.infer({ ...request, bodyText: JSON.stringify(changed) });
    },
  };
}
