import { anything, checkFlag, checkFunction, choiceOf, kindOf, optionsOf, textOf } from "../../base/options.ts";
import type { ConversationId } from "../../domain/ids.ts";
import { cacheWriteNames, type TracingService, tracingServices } from "../../engine/tracing/spans/span-options.ts";
import { orderStreams } from "../../log/system-streams/exports.ts";
import { carriedIn, checkOpenStores, type OpenStore, recordCarried } from "./copy.ts";
import { openStoreSource } from "./copy-source.ts";
import { otlpPieces, type SpansOfConversation } from "./otlp.ts";
import { recordedSpans } from "./recorded-spans.ts";

export type ExportSpansOptions = {
  readonly conversations: readonly ConversationId[];
  /** The name of the agent, by which spans of runs are named, and its version. */
  readonly agent?: string;
  readonly agentVersion?: string;
  /** Whether spans have what was said. The store then records that the conversations have left it. */
  readonly content?: boolean;
  /** The service that reads the spans, if it needs attributes of its own. */
  readonly service?: TracingService;
  readonly cacheWriteName?: "cache_write" | "cache_creation";
  /** Called with the reason if it could not be recorded that contents have left the store: an erasure there will not list it. */
  readonly onUnrecorded?: (reason: string) => void;
  /** Called with the number of spans so far. */
  readonly onSpan?: (count: number) => void;
};

const exportOptions = optionsOf<ExportSpansOptions>({
  conversations(what, given) {
    if (Array.isArray(given)) return anything(what, given);
    throw new TypeError(`${what} is ${kindOf(given)}: give a list of ids, such as [conversation.id]`);
  },
  ...{ agent: textOf("the name of the agent"), agentVersion: textOf("the version of the agent") },
  ...{ content: checkFlag, service: choiceOf(...tracingServices), cacheWriteName: choiceOf(...cacheWriteNames) },
  ...{ onUnrecorded: checkFunction, onSpan: checkFunction },
});

/**
 * The spans of recorded conversations as OTLP/JSON, piece by piece: what `turnlog export --otlp` writes. They are those that tracing (see
 * docs/TRACING.md) makes of the same runs, but for ids.
 *
 *     await writeFile("spans.json", exportSpans(store, { conversations: [conversation.id] }));
 *
 * @throws {ConversationDamagedError} at an event that cannot be read and was not skipped; what came before has no end.
 */
export async function* exportSpans(from: OpenStore, options: ExportSpansOptions): AsyncGenerator<string, void> {
  exportOptions.check("exportSpans", options);
  checkOpenStores("exportSpans takes an open store", "it", [from]);
  const { conversations, agent = null, agentVersion = null, content = false, service = null, onUnrecorded } = options;
  const { cacheWriteName = "cache_write", onSpan = () => undefined } = options;
  const spanOptions = { agent, agentVersion, hasContent: content, service, cacheWriteName, attributes: {} };
  const ordersBefore = content ? await orderStreams(from.events) : new Set<string>();
  let count = 0;
  const spansOf = (id: ConversationId): SpansOfConversation => ({
    id,
    spans: counting(recordedSpans({ store: from.events }, id, spanOptions), () => {
      count += 1;
      onSpan(count);
    }),
  });
  yield* otlpPieces(conversations.map(spansOf), { service: agent ?? "turnlog" });
  if (!content) return;
  const carried = carriedIn(await openStoreSource(from.events, conversations));
  const made = { kind: "bundle", isRedacted: false, sha256: null, storeId: null } as const;
  await recordCarried(from, { ...made, conversations: carried }, { ordersBefore, onUnrecorded });
}

async function* counting<T>(items: AsyncIterable<T>, onItem: () => void): AsyncGenerator<T> {
  for await (const item of items) {
    onItem();
    yield item;
  }
}
