import { cacheTrailReader } from "../../../analysis/costs/cache-trail.ts";
import {
  describeAnchor,
  describeDivergence,
  describeStrategy,
} from "../../../analysis/descriptions/describe-inference.ts";
import { describeReason, describeRequestReason } from "../../../analysis/descriptions/describe-reason.ts";
import { endpointLabel, shortId } from "../../../analysis/descriptions/labels.ts";
import { layerNotes, repairWords } from "../../../analysis/descriptions/side-notes.ts";
import { explainRequest, missingForSize } from "../../../analysis/explain/explain.ts";
import type { FoundRequest } from "../../../analysis/time-travel/find-request.ts";
import { counted, grouped } from "../../../base/counted.ts";
import { inOneLine } from "../../../base/printable.ts";
import type { AnchorId } from "../../../domain/anchor.ts";
import { conversationStream } from "../../../domain/ids.ts";
import { type WhyDocument, whyDocument } from "../../documents/requests.ts";
import { reasoningDocumentOf, whyDocumentOf } from "../../documents/why-document.ts";
import { blockRow, eventPlace, placeName } from "../block-rows.ts";
import { printCache } from "../cache-lines.ts";
import { type CommandInput, commandCode } from "../command.ts";
import type { Screen } from "../context.ts";
import { findRecordedRequest } from "../find.ts";
import { pricesIn } from "../price-files.ts";
import { catchUpAfterMs } from "../progress.ts";
import { printReasoning } from "../reasoning-lines.ts";
import { dateAndTime } from "../shown-time.ts";
import { codecsOf } from "../stack-file.ts";

type Options = {
  readonly stack?: string;
  readonly reasoning?: boolean;
  readonly prices?: string;
  readonly priceAs?: Readonly<Record<string, string>>;
};

/** Why a request was sent the way it was. */
export const why = commandCode({
  document: whyDocument,

  async *run(context, { arguments: [place = ""], options }: CommandInput<Options>) {
    const prices = await pricesIn(context.settings.prices(options));
    await using store = await context.openStore("read");
    const codecs = await codecsOf(options.stack, context.settings);
    const { follow, trail } = cacheTrailReader();
    const found = await findRecordedRequest(store, place, { codecs, orBefore: true, follow });
    const { conversation, request, skipped } = found;
    const about = { trail: trail(), skipped, prices, rules: {} };
    const explanation = await context.progress(
      "events read",
      (onProgress) => explainRequest(store.log, request, { ...about, onProgress }),
      catchUpAfterMs,
    );
    const explained = whyDocumentOf(conversation, explanation);
    if (options.reasoning !== true) yield explained;
    else yield { ...explained, reasoning: await reasoningDocumentOf(store, request, skipped) };
    if (explained.fullBytes === null && options.reasoning !== true && !context.isJson)
      context.note(`the size of the whole request is unknown: ${missingWords(request)}`);
  },

  render(document, screen) {
    const { conversation, revision, at, frame, attempt, decision, blocks, bytes, fullBytes, sent, candidates } =
      document;
    const { style, print, table } = screen;
    const again = attempt === 0 ? "" : `, attempt ${attempt + 1}`;
    const amount = `${grouped(blocks - decision.sendFrom)} of ${counted(blocks, "block")}`;
    print(
      `${style.bold(placeName(conversation, revision))}  ${style.dim(`${dateAndTime(at)}, frame ${frame ?? "0"}${again}`)}`,
      askedWords(document),
      "",
      `${style.bold(describeStrategy(decision))}: sent ${amount}, ${grouped(bytes)} bytes${fullBytes === null ? "" : ` (everything: ${grouped(fullBytes)})`}`,
      ...reasonLines(document).map((line) => `  ${line}`),
    );
    if (document.reasoning !== undefined) {
      printReasoning(document.reasoning, screen);
      return;
    }
    printCache(document, screen);
    print("", style.bold("Sent"));
    const own = conversationStream(conversation);
    const leftOut = new Set(decision.repairs.filter(({ rule }) => rule === "omit").map(({ index }) => index));
    const told = sent.map((block) =>
      leftOut.has(block.index) ? { ...block, label: `${block.label} (left out)` } : block,
    );
    table(told.slice(0, maxLines).map((block) => blockRow(block, own, style)));
    printRest(sent.length, screen);
    print("", style.bold("Known contexts, newest first"));
    if (candidates.length === 0) print("  none");
    table(
      candidates.slice(0, maxLines).map((candidate) => [
        `  ${shortId(candidate.responseId) || "(no id)"}`,
        { text: eventPlace(candidate, own), style: style.dim },
        counted(candidate.length, "block"),
        {
          text:
            candidate.divergence === null
              ? describeReason(candidate.verdict)
              : describeDivergence(candidate.divergence),
          style: candidate.verdict === "taken" ? style.good : style.dim,
        },
      ]),
    );
    printRest(candidates.length, screen);
  },
});

/** Why the size of a full request is unknown. */
function missingWords(found: FoundRequest): string {
  const words = {
    codec: `its codec ${found.request.encoder} is missing (give it with --stack FILE)`,
    content: "content of it was erased",
    settings: "the event that declared its settings was skipped",
  } as const;
  return words[missingForSize(found)];
}

/** The provider that was asked: `asked claude, anthropic https://api.anthropic.com, claude-sonnet-5`. */
function askedWords({ scope, route, model, failedBefore }: WhyDocument): string {
  const named = route === null ? "" : `${inOneLine(route)}, `;
  const of = model === null ? "" : `, ${inOneLine(model)}`;
  const before = failedBefore.length === 0 ? "" : `, after ${failedBefore.map(endpointLabel).join(" and ")} had failed`;
  return `asked ${named}${endpointLabel(scope)}${of}${before}`;
}

function reasonLines(document: WhyDocument): readonly string[] {
  const { decision, brokenBy, timings, mode, modeChosen } = document;
  const { anchor, reason, rejected, changedSettings, repairs } = decision;
  const lines: string[] = [];
  if (modeChosen !== null)
    lines.push(`mode ${mode}, chosen because ${choiceWords[modeChosen] ?? inOneLine(modeChosen)}`);
  else if (mode !== "chained") lines.push(`mode ${mode}`);
  if (anchor !== null)
    lines.push(`continues from ${anchorWords(anchor)}, which holds the first ${counted(anchor.length, "block")}`);
  if (reason !== null) lines.push(`because: ${describeRequestReason(reason)}`);
  if (brokenBy !== null)
    lines.push(
      `what ${rejected === null ? "" : anchorWords(rejected.anchor)} holds differs: ${describeDivergence(brokenBy)} (${brokenBy.block})`,
    );
  if (changedSettings.length > 0)
    lines.push(`settings changed since then: ${changedSettings.map(inOneLine).join(", ")}`);
  lines.push(...beforeLines(document));
  for (const repair of repairs) lines.push(`repaired: ${repairWords(repair)}`);
  for (const timing of timings) lines.push(...layerNotes(timing));
  return lines;
}

/** The comparison with the previous request, for an endpoint that cannot continue from it: its prefix may still be the same. */
function beforeLines({ conversation, before }: WhyDocument): readonly string[] {
  if (before === null) return [];
  const { divergence, changedSettings } = before;
  const place = eventPlace(before, conversationStream(conversation));
  const settings = changedSettings.map(inOneLine).join(", ");
  return [
    divergence === null
      ? `it begins with everything that was sent and answered at ${place}`
      : `it differs from what was sent and answered at ${place}: ${describeDivergence(divergence)} (${divergence.block})`,
    ...(settings === "" ? [] : [`settings changed since then: ${settings}`]),
  ];
}

const anchorWords = ({ kind, id }: AnchorId): string => describeAnchor({ kind, id: shortId(id) });

const choiceWords: Readonly<Record<string, string>> = {
  "endpoint-chains": "the endpoint continues from responses",
  "endpoint-cannot-chain": "the endpoint does not continue from responses",
  required: "the policy requires a chain",
  "layers-edit-every-step": "the layers changed what the server held before every request",
};

/** The maximum number of lines for sent blocks and for contexts; `--json` has all. */
const maxLines = 20;

function printRest(count: number, { print }: Screen): void {
  if (count > maxLines) print(`  and ${grouped(count - maxLines)} more`);
}
