import { basename } from "node:path";
import { counted, grouped } from "../../../base/counted.ts";
import { printableJson } from "../../../base/printable.ts";
import type { TurnlogStore } from "../../../conversation/turnlog-store.ts";
import { type ConversationId, conversationOfStream } from "../../../domain/ids.ts";
import type { TracingService } from "../../../engine/tracing/spans/span-options.ts";
import { bundleBegin } from "../../../operations/transfer/bundle.ts";
import { recordedBundle } from "../../../operations/transfer/carry-bundle.ts";
import { type CopySource, openStoreSource } from "../../../operations/transfer/copy-source.ts";
import { exportSpans } from "../../../operations/transfer/export-spans.ts";
import { otlpBegin } from "../../../operations/transfer/otlp.ts";
import { exportDocument, type SpansWritten } from "../../documents/stores.ts";
import { maskedEvent } from "../../studio/masked-event.ts";
import { pageBegin, pageInOneFile } from "../../studio/page-in-one-file.ts";
import { builtPage } from "../built-page.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-codes.ts";
import { findConversations } from "../find.ts";
import { writeWholeFile } from "../whole-file.ts";

type Options = {
  readonly output?: string;
  readonly html?: string;
  readonly otlp?: string;
  readonly redact?: boolean;
} & SpanChoices;

type SpanChoices = { readonly content?: boolean; readonly agent?: string; readonly for?: TracingService };

/** Writes conversations as one bundle, with everything that they need, into a file or to stdout. */
export const exportBundle = commandCode({
  document: exportDocument,

  async *run(context, { arguments: names, options }: CommandInput<Options>) {
    const { output, html, otlp, redact: isRedacted = false } = options;
    if (otlp !== undefined) {
      const written = await writeSpans(context, otlp, { names, options });
      if (written !== null) yield written;
      return;
    }
    refuseSpanChoices(options);
    if (html !== undefined && output !== undefined)
      throw new UsageError("--html names the file of the page: leave out --output");
    const file = isStdout(output) ? undefined : output;
    if (file === undefined && context.isJson)
      throw new UsageError("a bundle on stdout is already JSON: leave out --json, or name a file with --output");
    await using store = await context.openStore("read");
    const conversations = await findConversations(store, names);
    const source = await openStoreSource(store.events, conversations);
    const onUnrecorded = (reason: string): void => context.note(`the store did not record the export: ${reason}`);
    const isMasked = html !== undefined && isRedacted;
    const lines = recordedBundle(store, source, { conversations, redact: isRedacted, isMasked, onUnrecorded });
    const counts = { conversations, streams: source.heads.length, events: eventsIn(source), isRedacted };
    if (html !== undefined) {
      await writePage(context, html, {
        ...{ store, conversations, isRedacted },
        lines: isRedacted ? maskedLines(source, lines) : lines,
      });
      yield { file: html, ...counts };
      return;
    }
    if (file === undefined) {
      await writeOut(context, lines);
      return;
    }
    await context.progress("exporting", (update) =>
      writeWholeFile(file, {
        ...{ name: "bundle", begin: bundleBegin, pieces: lines },
        onPiece(written) {
          context.signal.throwIfAborted();
          // All lines except the first and the last are events.
          update(written, counts.events);
        },
      }),
    );
    yield { file, ...counts };
  },

  render(written, { print }) {
    if ("spans" in written) {
      const { file, spans, hasContent } = written;
      print(`${counted(spans, "span")} written to ${file}${hasContent ? ", with what was said" : ""}`);
      return;
    }
    const { file, events, isRedacted } = written;
    print(`${grouped(events)} events written to ${file}${isRedacted ? ", their texts redacted" : ""}`);
  },
});

/** Options of spans that would be ignored without `--otlp`. */
function refuseSpanChoices({ content, agent, for: service }: SpanChoices): void {
  const given =
    content === true ? "--content" : agent !== undefined ? "--agent" : service === undefined ? null : "--for";
  if (given !== null) throw new UsageError(`${given} is about spans: name their file with --otlp`);
}

type Spans = { readonly names: readonly string[]; readonly options: Options };

const isStdout = (file: string | undefined): boolean => file === "-" || file === "/dev/stdout";

/** Writes the spans of conversations as OTLP/JSON; returns null if they went to stdout. */
async function writeSpans(context: CliContext, file: string, { names, options }: Spans): Promise<SpansWritten | null> {
  const { output, html, redact, content = false, agent, for: service } = options;
  if (output !== undefined || html !== undefined)
    throw new UsageError("--otlp names the file of the spans: leave out --output and --html");
  if (isStdout(file) && context.isJson)
    throw new UsageError("spans on stdout are already JSON: leave out --json, or name a file with --otlp");
  if (redact === true) throw new UsageError("spans have no texts unless --content asks for them: leave out --redact");
  await using store = await context.openStore("read");
  const conversations = await findConversations(store, names);
  let spans = 0;
  const pieces = exportSpans(store, {
    ...{ conversations, content },
    ...(agent === undefined ? {} : { agent }),
    ...(service === undefined ? {} : { service }),
    onUnrecorded: (reason) => context.note(`the store did not record the export: ${reason}`),
    onSpan(count) {
      context.signal.throwIfAborted();
      spans = count;
    },
  });
  if (isStdout(file)) {
    await writeOut(context, pieces);
    return null;
  }
  await writeWholeFile(file, { name: "file of spans", begin: otlpBegin, pieces });
  return { file, conversations, spans, hasContent: content };
}

const eventsIn = ({ heads }: CopySource): number => heads.reduce((sum, { head }) => sum + head.revision + 1, 0);

type Page = {
  readonly store: TurnlogStore;
  readonly lines: AsyncIterable<string>;
  readonly conversations: readonly ConversationId[];
  readonly isRedacted: boolean;
};

/** The studio's page with the bundle in it: one file that opens from disk. */
async function writePage(
  context: CliContext,
  file: string,
  { store, lines, conversations, isRedacted }: Page,
): Promise<void> {
  const folder = await builtPage(context);
  const [first] = conversations;
  const { title } = first === undefined || isRedacted ? { title: null } : await titleOf(store, first);
  const text = await pageInOneFile({ folder, lines, title: title ?? "turnlog", address: basename(file), isRedacted });
  await writeWholeFile(file, { name: "page", begin: pageBegin, pieces: [text] });
}

/** Events with masked texts, in place of a bundle's lines, which are read to their end all the same: the store then records that they left. */
async function* maskedLines({ events }: CopySource, recorded: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const envelope of events()) {
    // Long texts are stored in streams of their own, named by their hashes.
    if (conversationOfStream(envelope.stream) === null) continue;
    if (envelope.encoding === "json")
      throw new UsageError(
        `${envelope.stream.replace(/^conversation-/, "")} records hashes of its texts, because it was begun by an older turnlog, or in a store without lines: no page of it can be redacted`,
      );
    yield `${JSON.stringify(maskedEvent(envelope))}\n`;
  }
  for await (const _ of recorded);
}

const titleOf = async (store: TurnlogStore, id: ConversationId): Promise<{ readonly title: string | null }> => {
  const { view } = await (await store.conversation(id).at(-1)).load();
  return { title: view.title };
};

async function writeOut(context: CliContext, lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) {
    // A terminal would obey control characters; a pipe gets the exact bytes.
    context.write(context.isTerminal ? printableJson(line) : line);
    await context.drained();
  }
}
