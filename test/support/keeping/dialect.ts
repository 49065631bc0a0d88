import { readItems, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { type JsonObject, omitMembers } from "../../../src/base/json.ts";
import type { AnchorKind } from "../../../src/engine/ports/anchor-kind.ts";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import type { Provider } from "../../../src/engine/ports/provider.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { type Dialect, equalContents } from "../dialect.ts";
import { takenByResponses } from "../dialects.ts";
import { toolRead } from "../toy/front.ts";
import { type Keeping, KeepingFront, keptMs, serveKeeping } from "./front.ts";

/** Repeated by nothing that continues a thread. */
const ofThread: ReadonlySet<string> = new Set(["instructions", "tools"]);

const kinds: Readonly<Record<Keeping, AnchorKind>> = {
  thread: { isLinear: true, keptMs: () => keptMs, mustEqual: (name) => ofThread.has(name) },
  // Only what is not the model's can be said to a session.
  session: { isLinear: true, takes: ({ kind }) => !["assistant", "reasoning", "tool_call", "other"].includes(kind) },
};

/** The items of the Responses API, for a server that keeps them so. */
const codecOf = (keeping: Keeping): Codec => ({
  ...responsesCodec,
  name: `kept-in-${keeping}s/1`,
  family: `kept-in-${keeping}s`,
  anchors: { [keeping]: kinds[keeping] },
  encodeRequest: ({ settings, ...parts }) =>
    responsesCodec.encodeRequest({
      ...parts,
      settings: parts.anchor?.kind === "thread" ? omitMembers(settings, ofThread) : settings,
    }),
  readAnswer(response, asked) {
    const answer = responsesCodec.readAnswer(response, asked);
    const { kept_as: id } = response;
    const { anchor, ...rest } = answer;
    return anchor === undefined || typeof id !== "string"
      ? rest
      : { ...rest, anchor: { ...anchor, kind: keeping, id } };
  },
});

const codecs = { thread: codecOf("thread"), session: codecOf("session") };

/** A provider whose answers are kept in threads or sessions. */
export function keepingProvider(
  keeping: Keeping,
  baseURL: string,
  options: JsonObject & { readonly model: string },
): Provider {
  const provider = openaiResponses({ apiKey: "sk-keeping", baseURL, ...options, transport: "json" });
  const { conversations: _, ...others } = provider;
  const infer: Provider["infer"] = async (request) => {
    try {
      return await provider.infer(request);
    } catch (error) {
      if (!(error instanceof ProviderError) || error.providerCode !== "already_continued") throw error;
      throw new ProviderError(error.message, { kind: "already-continued", outcome: "rejected", status: error.status });
    }
  };
  return {
    ...others,
    infer,
    name: `kept-in-${keeping}s`,
    scope: `kept-in-${keeping}s ${baseURL}`,
    codec: codecs[keeping],
  };
}

/** A server that keeps what it answers so, behind an address. */
export async function startKeeping(
  keeping: Keeping,
  answer: Parameters<Dialect["start"]>[0],
  { violations, clock }: { readonly violations: string[]; readonly clock?: () => number },
) {
  const server = await startReferenceServer({
    seed: "keeping",
    answer: ({ reading, body }) =>
      answer(() => ({
        lines: readItems(reading.items, reading),
        results: reading.items.filter((item) => item["type"] === "function_call_output").length,
        bodyText: JSON.stringify([body, reading.items]),
      })),
  });
  const front = new KeepingFront(server, { keeping, violations, clock });
  const served = await serveKeeping(front);
  const close = async (): Promise<void> => {
    await served[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  return { front, server, url: served.url, [Symbol.asyncDispose]: close };
}

/** A wire whose answers can be continued once. */
export const keepingDialect = (keeping: Keeping): Dialect & { readonly violations: string[] } => {
  const violations: string[] = [];
  return {
    violations,
    codecs: [codecs[keeping]],
    ...{ hasIds: true, hasPhases: true, resultsStandTogether: false, hasHosted: true },
    modes: ["chained", "chained", "chained", "chained", "auto", "stateless"],
    transports: ["json"],
    async start(answer) {
      const kept = await startKeeping(keeping, answer, { violations });
      const { front, server, url } = kept;
      return {
        url,
        requests: front.requests,
        lines: (index) => front.lines(index),
        responseIds: () => front.ids(),
        forget: (id) => front.forget(id),
        inject: (...faults) => server.inject(...faults),
        cut: () => undefined,
        clear: () => front.clear(),
        [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
      };
    },
    provider: (url, { transport: _, ...asked }) => keepingProvider(keeping, url, asked),
    essence: equalContents,
    takes: takenByResponses,
    toolRead: (tool) => toolRead({ type: "function", ...tool, strict: false }),
  };
};
