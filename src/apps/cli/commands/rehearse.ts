import { counted, grouped } from "../../../base/counted.ts";
import { type ChatDocument, type ChatLine, readChatFile } from "../../../testing/rehearsal/chat-format.ts";
import { generateDocuments } from "../../../testing/rehearsal/generate.ts";
import type { Incoherence } from "../../../testing/rehearsal/play.ts";
import type { RehearsalProvider } from "../../../testing/rehearsal/ports.ts";
import { rehearsalParts } from "../../../testing/rehearsal/reference-parts.ts";
import {
  type RehearsalFigures,
  type RehearsalOptions,
  rehearse as rehearseAll,
} from "../../../testing/rehearsal/rehearse.ts";
import { handedBetween, rehearsedProviders } from "../../../testing/rehearsal/rehearsed-providers.ts";
import { rehearsalDocument } from "../../documents/running.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { type CliContext, shownUrl } from "../context.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit-codes.ts";

/** The default number of generated conversations. */
const maxGenerated = 120;
/** The maximum number of incoherent requests to show one by one. */
const maxShown = 20;

type Options = Pick<RehearsalOptions, "seed" | "editRate" | "edits" | "transport" | "switchModes"> & {
  readonly mode?: RehearsalOptions["mode"];
  readonly provider?: RehearsalProvider;
  readonly handoff?: boolean;
  readonly generate?: string;
  readonly limit?: number;
  readonly reasoning?: boolean;
  readonly parallel?: boolean;
  readonly keep?: boolean;
  readonly warmUp?: number;
};

/** Plays conversations with random edits, and has every request judged. */
export const rehearse = commandCode({
  document: rehearsalDocument,

  async *run(context, { arguments: [file], options }: CommandInput<Options>) {
    const source = sourceOf(file, options);
    const { provider: named = "responses" } = options;
    // A provider that stores nothing by default is asked to store.
    const provider = options.mode === "chained" ? (rehearsedProviders[named].chainedAs ?? named) : named;
    const { mode = rehearsedProviders[provider].mode ?? "chained" } = options;
    const {
      seed,
      editRate,
      edits,
      handoff = false,
      transport,
      switchModes = false,
      reasoning = false,
      parallel = false,
      keep = false,
      warmUp: warmUpRate = 0,
    } = options;
    if (handoff) checkHandoff(options);
    else checkProvider(provider, { ...options, named });
    const providers = handoff ? handedBetween : [provider];
    // No source documents that a connection continues a conversation object.
    if (mode === "conversation" && transport === "websocket")
      throw new UsageError(
        "--mode conversation cannot go with --transport websocket: conversation objects are kept over HTTP only; give --transport sse or json, or --mode chained",
      );
    if (options.warmUp !== undefined && transport !== "websocket")
      throw new UsageError(
        `--warm-up cannot go with --transport ${transport}: no connection is kept there; give --transport websocket`,
      );
    if (context.isStoreNamed && !keep && context.storeUrl !== "memory:")
      throw new UsageError(
        "--store names where a rehearsal leaves its conversations: add --keep, or leave --store out",
      );
    const incoherent: Incoherence[] = [];
    const malformed: string[] = [];
    const { signal } = context;
    const documents = await openDocuments(source, malformed);
    await using store = keep ? await context.openStore("create-told") : null;
    let figures: RehearsalFigures;
    try {
      figures = await context.progress("rehearsing", (onConversation) =>
        rehearseAll(documents, rehearsalParts(store, ...providers), {
          ...{
            seed,
            editRate,
            edits,
            mode,
            transport,
            switchModes,
            warmUpRate,
            reasoning,
            parallel,
            signal,
            onConversation,
          },
          onIncoherence: (incoherence) => incoherent.push(incoherence),
        }),
      );
    } catch (error) {
      if (signal.aborted) return exitCodes.interrupted;
      throw error;
    }
    for (const line of malformed) context.note(line);
    if (figures.conversations === 0) context.note(`${source.name} holds no conversations`);
    noteIncoherent(context, incoherent);
    if (keep) context.note(`its conversations are in ${shownUrl(context.storeUrl)}`);
    yield { providers: [...providers], ...figures };
    return exitCodeOf(figures, malformed.length);
  },

  render(figures, { style, print, table }) {
    const { conversations, requests, incoherent, events, seconds, bytesSent, bytesFull, bytesLastOnly } = figures;
    const bytes = (count: number): string => `${grouped(count)} bytes`;
    table([
      ["conversations", grouped(conversations)],
      figures.providers.length === 1
        ? ["provider", figures.providers.join(", ")]
        : [
            "providers",
            `${grouped(figures.providers.length)}, another one before ${counted(figures.handoffs, "request")}`,
          ],
      [
        "mode",
        figures.switches === 0
          ? figures.mode
          : `${figures.mode}, switched before ${counted(figures.switches, "request")}`,
      ],
      ["transport", figures.transport],
      ["requests", grouped(requests)],
      ["  chained", grouped(figures.chained)],
      ["  rebased", grouped(figures.rebased)],
      ["  full", grouped(figures.full)],
      ...(figures.warmUps === 0 ? [] : [["warm-ups", grouped(figures.warmUps)] as const]),
      ...(figures.objectCalls === 0 ? [] : [["calls to objects", grouped(figures.objectCalls)] as const]),
      ["sent", bytes(bytesSent)],
      ["  planned full", `${bytes(bytesFull)}, ${ratio(bytesSent, bytesFull)} of it were sent`],
      ["  last response only", `${bytes(bytesLastOnly)}, ${ratio(bytesSent, bytesLastOnly)} of it were sent`],
      ["events", grouped(events)],
      ["seconds", seconds.toFixed(1)],
    ]);
    const verdict =
      incoherent === 0
        ? style.good("the model read what it should in every request")
        : style.bad(`${counted(incoherent, "request")} incoherent`);
    if (requests > 0 || incoherent > 0) print(style.bold(verdict));
  },
});

/** A handoff uses all providers, with only what all of them support. */
function checkHandoff({ provider, transport }: Options): void {
  if (provider !== undefined)
    throw new UsageError("--handoff cannot go with --provider: it asks all of them in turn; leave one of the two out");
  if (transport === "websocket")
    throw new UsageError(
      "--handoff cannot go with --transport websocket: few providers speak it; give --transport sse or json",
    );
}

/** Checks that a provider supports the options, so that no figure describes something else. */
function checkProvider(
  provider: RehearsalProvider,
  { named, transport, mode, reasoning = false }: Options & { readonly named: RehearsalProvider },
): void {
  const { hasWebSocket = false, showsReasoning = true, mode: ownMode, ...more } = rehearsedProviders[provider];
  const { whyNoReasoning = "its server shows no reasoning" } = more;
  const isByMode = provider !== named;
  const given = isByMode ? `--provider ${named} --mode chained` : `--provider ${named}`;
  if (ownMode === "stateless" && (mode === "chained" || mode === "conversation"))
    throw new UsageError(
      `--provider ${provider} cannot go with --mode ${mode}: its server keeps nothing to continue from; give --mode stateless or auto`,
    );
  if (transport === "websocket" && !hasWebSocket)
    throw new UsageError(`--provider ${named} cannot go with --transport websocket: give --transport sse or json`);
  if (reasoning && !showsReasoning)
    throw new UsageError(
      `${given} cannot go with --reasoning: ${whyNoReasoning}; leave --reasoning out, or give ${isByMode ? "--mode stateless" : "--provider chat"}`,
    );
}

/** One incoherent request takes precedence over every other failure. */
export function exitCodeOf(
  { incoherent, conversations }: Pick<RehearsalFigures, "incoherent" | "conversations">,
  malformedLines: number,
): ExitCode {
  if (incoherent > 0) return exitCodes.replay;
  return malformedLines > 0 || conversations === 0 ? exitCodes.failure : exitCodes.ok;
}

type Source =
  | { readonly type: "file"; readonly name: string; readonly limit: number }
  | { readonly type: "generated"; readonly name: string; readonly seed: string; readonly limit: number };

function sourceOf(file: string | undefined, { generate: seed, limit }: Options): Source {
  if (file !== undefined && seed !== undefined) throw new UsageError("give a file or --generate, not both");
  if (file !== undefined) return { type: "file", name: file, limit: limit ?? Number.POSITIVE_INFINITY };
  if (seed === undefined) throw new UsageError("name a file with conversations, or make some with --generate SEED");
  return { type: "generated", name: `--generate ${seed}`, seed, limit: limit ?? maxGenerated };
}

async function openDocuments(source: Source, malformed: string[]): Promise<AsyncIterable<ChatDocument>> {
  if (source.type === "file") return documentsIn(await readChatFile(source.name), source, malformed);
  return (async function* () {
    yield* generateDocuments(source.seed, source.limit);
  })();
}

async function* documentsIn(
  lines: AsyncIterable<ChatLine>,
  { name, limit }: Source,
  malformed: string[],
): AsyncIterable<ChatDocument> {
  let read = 0;
  for await (const line of lines) {
    if (line.status === "malformed") {
      malformed.push(`${name}, line ${line.line}: ${line.message}`);
      continue;
    }
    yield line.document;
    read += 1;
    if (read >= limit) return;
  }
}

function noteIncoherent(context: CliContext, incoherent: readonly Incoherence[]): void {
  for (const { conversation, request, what } of incoherent.slice(0, maxShown))
    context.note(`${conversation}, request ${request}: ${what}`);
  if (incoherent.length > maxShown) context.note(`and ${grouped(incoherent.length - maxShown)} more`);
}

const ratio = (part: number, whole: number): string =>
  whole === 0 ? "nothing" : `${((100 * part) / whole).toFixed(1)} %`;
