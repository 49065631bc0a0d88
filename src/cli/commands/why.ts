import type { Decision } from "../../domain/events/inference-events.ts";
import { inputTurn, planAgain } from "../../engine/planning/recorded-request.ts";
import { layerAsides, repairWords } from "../../projections/asides.ts";
import { describeDivergence, describeStrategy } from "../../projections/timeline.ts";
import { counted, grouped, inOneLine, shortId } from "../../projections/wording.ts";
import { codecs } from "../../providers/codecs.ts";
import { blockRow } from "../block-rows.ts";
import { candidatesOf } from "../candidates.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { eventPlace, placeName } from "../open-place.ts";
import { type FoundRequest, openRequest } from "../recorded-request.ts";
import { type Cell, tableLines } from "../table.ts";

/** Why a request was sent as it was. */
export const run: CommandHandler = async (context, { arguments: [text = ""] }) => {
  await using store = await context.openStore({ mustExist: true });
  const found = await openRequest(store, text);
  const fullBytes = planAgain(found.view, found.recorded, codecs, { full: "policy" }).bytes;
  if (context.isJson) printJson(context, found, fullBytes);
  else print(context, found, fullBytes);
};

function printJson(context: CliContext, found: FoundRequest, fullBytes: number): void {
  const { conversation, recorded, request } = found;
  const { inferenceId, attempt, decision, input, requestBytes } = request;
  context.printJson({
    conversation: conversation.id,
    revision: recorded.revision,
    at: recorded.at,
    runId: recorded.runId,
    frame: recorded.frame,
    inferenceId,
    attempt,
    decision,
    blocks: input.blocks,
    bytes: requestBytes,
    fullBytes,
    candidates: Array.from(
      candidatesOf(found),
      ({ context: { responseId, inferenceId, stream, revision, length }, verdict, divergence }) => ({
        responseId,
        inferenceId,
        stream,
        revision,
        length,
        verdict,
        divergence,
      }),
    ),
  });
}

function print(context: CliContext, found: FoundRequest, fullBytes: number): void {
  const { style } = context;
  const { conversation, recorded, request } = found;
  const { decision, input, requestBytes, attempt } = request;
  const again = attempt === 0 ? "" : `, attempt ${attempt + 1}`;
  const amount = `${grouped(input.blocks - decision.sendFrom)} of ${counted(input.blocks, "block")}`;
  const lines = [
    `${style.bold(placeName(conversation, recorded.revision))}  ${style.dim(`${recorded.at.slice(0, 19).replace("T", " ")}, frame ${recorded.frame ?? "0"}${again}`)}`,
    "",
    `${style.bold(describeStrategy(decision))}: sent ${amount}, ${grouped(requestBytes)} bytes (everything: ${grouped(fullBytes)})`,
    ...reasonLines(found).map((line) => `  ${line}`),
    "",
    style.bold("Sent"),
    ...sentLines(context, found),
    "",
    style.bold("Known contexts, newest first"),
    ...candidateLines(context, found),
  ];
  for (const line of lines) context.print(line);
}

function reasonLines({ request, labels }: FoundRequest): readonly string[] {
  const { decision } = request;
  const { anchor, reason, rejected, changedSettings, repairs } = decision;
  const lines: string[] = [];
  if (anchor !== null)
    lines.push(
      `continues from ${shortId(anchor.responseId)}, which holds the first ${counted(anchor.length, "block")}`,
    );
  if (reason !== null) lines.push(`because: ${reasonWords[reason]}`);
  const divergence = rejected?.divergence ?? null;
  if (divergence !== null) {
    const label = labels.get(divergence.blockId ?? "") ?? "";
    lines.push(
      `what ${shortId(rejected?.responseId ?? "")} holds differs: ${describeDivergence(divergence)} (${label})`,
    );
  }
  if (changedSettings.length > 0)
    lines.push(`settings changed since then: ${changedSettings.map(inOneLine).join(", ")}`);
  for (const repair of repairs) lines.push(`repaired: ${repairWords(repair)}`);
  for (const pass of request.timings ?? []) lines.push(...layerAsides(pass));
  return lines;
}

const reasonWords: Readonly<Record<NonNullable<Decision["reason"]>, string>> = {
  "first-request": "nothing was asked at this endpoint before",
  "no-anchor": "no newer context is a beginning of this Turn that can be continued from",
  "provider-cannot-chain": "the provider does not continue from responses",
  expired: "the context is older than the policy allows",
  refused: "the server refused to continue from it",
  "illegal-continuation": "what follows the context cannot be sent alone",
  "settings-changed": "settings changed that a chain does not survive",
  suspect: "the answer's echo differed from what was sent: the server may not hold the context",
  policy: "the policy says so",
};

/** How many lines of what was sent, and of contexts, are shown; `--json` has all. */
const maxLines = 20;

function sentLines(context: CliContext, { view, recorded, request, labels }: FoundRequest): readonly string[] {
  const { sendFrom } = request.decision;
  const sent = inputTurn(view, recorded).after(sendFrom);
  const { stream } = recorded;
  const rows = sent
    .slice(0, maxLines)
    .map((block, offset) =>
      blockRow(block, sendFrom + offset, { blame: view.client.blame, style: context.style, labels, stream }),
    );
  return withRest(tableLines(rows, context), sent.length);
}

function candidateLines(context: CliContext, found: FoundRequest): readonly string[] {
  const { style } = context;
  const rows: Cell[][] = [];
  for (const { context: held, verdict, divergence } of candidatesOf(found)) {
    if (rows.length === maxLines) break;
    rows.push([
      `  ${shortId(held.responseId) || "(no id)"}`,
      { text: eventPlace(held, found.recorded.stream), style: style.dim },
      counted(held.length, "block"),
      {
        text: divergence === null ? verdict : describeDivergence(divergence),
        style: verdict === "taken" ? style.good : style.dim,
      },
    ]);
  }
  const lines = tableLines(rows, context);
  return lines.length === 0 ? ["  none"] : withRest(lines, found.view.server.all.length);
}

const withRest = (lines: readonly string[], count: number): readonly string[] =>
  count > maxLines ? [...lines, `  and ${grouped(count - maxLines)} more`] : lines;
