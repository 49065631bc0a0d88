import {
  describeCacheAdvice,
  describeCacheCause,
  describeDiagnosis,
  spanWords,
  tokenWords,
} from "../../analysis/descriptions/describe-cache.ts";
import { describeDivergence } from "../../analysis/descriptions/describe-inference.ts";
import { counted, grouped } from "../../base/counted.ts";
import { excerpt, inOneLine, printable } from "../../base/printable.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { RequestCacheDocument } from "../documents/caching.ts";
import type { WhyDocument } from "../documents/requests.ts";
import { aroundChange } from "./around-change.ts";
import { changeWords, eventPlace } from "./block-rows.ts";
import type { Screen } from "./context.ts";
import { textDifference } from "./difference.ts";
import { notPricedWords } from "./price-files.ts";
import type { Style } from "./screen.ts";
import { dateAndTime } from "./shown-time.ts";

/** What a request read from the prompt cache, why not more, who changed the prompt and how, and what that cost. */
export function printCache({ cache, conversation }: WhyDocument, { print, note, style }: Screen): void {
  const own = conversationStream(conversation);
  print("", `${style.bold(`Cache: ${inOneLine(cache.cause)}`)}: ${describeCacheCause(cache.cause)}`);
  const lines = [
    ...foreseenLines(cache),
    ...againstLines(cache, own),
    ...changeLines(cache),
    ...tokenLines(cache),
    ...diagnosisLines(cache, own),
    ...adviceLines(cache),
  ];
  print(...lines.map((line) => `  ${line}`), ...editLines(cache, { own, style }));
  for (const line of priceNotes(cache)) note(line);
}

const foreseenLines = ({ cause, foreseen }: RequestCacheDocument): readonly string[] =>
  cause === foreseen || foreseen === "unknown" ? [] : [`by the rules alone: ${describeCacheCause(foreseen)}`];

function againstLines({ against, unit, cause }: RequestCacheDocument, own: string): readonly string[] {
  if (against === null) return [];
  const place = `${eventPlace(against, own)} of ${dateAndTime(against.at)}`;
  if (unit === null) return [`all of it was sent at ${place}`];
  const name = unit.name === null || unit.kind === "setting" ? "" : ` (${excerpt(unit.name, 40)})`;
  const differs = cause === "read" ? "goes on after" : "differs from";
  return [`${differs} the request at ${place} from ${excerpt(unit.path, 60)} on${name}`];
}

function changeLines(cache: RequestCacheDocument): readonly string[] {
  const { divergence, author, changedSettings, tools, idleMs, rules } = cache;
  const names = (all: readonly string[]): string => all.map((name) => excerpt(name, 40)).join(", ");
  const lines: string[] = [];
  if (divergence !== null) lines.push(`${describeDivergence(divergence)} (${divergence.block})`);
  else if (author?.kind === "engine") lines.push("turnlog repaired the request otherwise");
  else if (author?.kind === "erasure")
    lines.push("settings of the earlier request were erased, so what differs is not known");
  if (author?.kind === "settings" && changedSettings.length > 0)
    lines.push(`settings changed: ${names(changedSettings)}`);
  if (tools.added.length > 0) lines.push(`tools added: ${names(tools.added)}`);
  if (tools.removed.length > 0) lines.push(`tools removed: ${names(tools.removed)}`);
  if (idleMs !== null) lines.push(`last used ${spanWords(idleMs)} before`);
  if (cache.cause === "below-minimum" && rules?.minimumTokens != null)
    lines.push(`the minimum is ${counted(rules.minimumTokens, "token")}`);
  if (rules?.source != null && byRules.has(cache.cause))
    lines.push(`by ${rules.source.title}, read on ${rules.source.readOn}`);
  return lines;
}

/** Causes that follow from a vendor's rules, which may have changed since. */
const byRules: ReadonlySet<string> = new Set([
  ...["below-minimum", "expired", "maybe-expired", "out-of-lookback", "boundary-moved", "unexplained"],
]);

function tokenLines({ tokens, lost, price }: RequestCacheDocument): readonly string[] {
  if (tokens === null) return [];
  const { input, uncached, read, written } = tokens;
  const classes = [
    read === null ? "what it read is not reported" : `${grouped(read)} read`,
    // `any`: the provider does not report for how long.
    ...Object.entries(written).map(
      ([lifetime, each]) => `${grouped(each)} written${lifetime === "any" ? "" : ` (${inOneLine(lifetime)})`}`,
    ),
    `${grouped(uncached)} uncached`,
  ];
  const money = price?.usd == null ? "" : `, $${price.usd} more than reading them`;
  return [
    `${counted(input, "input token")}: ${classes.join(", ")}`,
    ...(lost === null || lost.tokens === 0 ? [] : [`lost ${tokenWords(lost)}${money}`]),
  ];
}

/** What the provider says, and whether turnlog finds the same. */
function diagnosisLines({ serverSays, against }: RequestCacheDocument, own: string): readonly string[] {
  if (serverSays === null) return [];
  const { against: compared, agrees } = serverSays;
  const isOther = compared !== null && compared.inferenceId !== against?.inferenceId;
  const since = isOther ? ` since ${eventPlace(compared, own)}` : "";
  const verdict = agrees === null ? "turnlog cannot compare" : agrees ? "turnlog agrees" : "turnlog disagrees";
  return [`the provider says${since}: ${describeDiagnosis(serverSays)}; ${verdict}`];
}

function adviceLines({ avoid }: RequestCacheDocument): readonly string[] {
  const advice = avoid === null ? null : describeCacheAdvice(avoid);
  return advice === null ? [] : [`to avoid it: ${advice}`];
}

/** The change of the block, as a difference of its text. */
function editLines(
  { edit, author }: RequestCacheDocument,
  { own, style }: { readonly own: string; readonly style: Style },
): readonly string[] {
  if (edit === null || author === null) return [];
  const { before, after, changed } = edit;
  if (before === after) return [];
  return [
    ...(changed === null ? [] : [style.dim(`  ${changeWords(changed, own)}`)]),
    ...textDifference(...aroundChange(printable(before ?? ""), printable(after ?? "")), style)
      .slice(0, maxLines)
      .map((line) => `  ${line}`),
  ];
}

/** The maximum number of lines of a difference; `--json` has both texts, whole. */
const maxLines = 20;

function priceNotes({ price }: RequestCacheDocument): readonly string[] {
  if (price === null) return [];
  const { file, format, sha256, notPriced } = price;
  return [
    `prices: ${file} (${format}, sha256 ${sha256.slice(0, 12)})`,
    ...notPriced.map(
      ({ class: each, tokens, why }) => `not priced: ${counted(tokens, "token")} ${each}: ${notPricedWords[why]}`,
    ),
  ];
}
