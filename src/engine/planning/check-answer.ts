import { isJsonList, isJsonObject } from "../../base/json.ts";
import { kindOf, meant } from "../../base/options.ts";
import { blockKinds } from "../../domain/block.ts";
import { countsSchema } from "../../domain/events/shared.ts";

/**
 * Rejects an answer that the log could not hold. The codec's author may have written it without types, and a violation of the
 * event's schema would not say what to change.
 *
 * @throws {TypeError} that names the member, and the expected value.
 */
export function checkAnswer(answer: unknown): void {
  if (!isJsonObject(answer)) refuse(answer, null, "{ id, status, isComplete, blocks, rest }");
  const { id, status, isComplete, blocks, rest, anchor, echo, failure, usage } = answer;
  if (!isTextOrNull(id)) refuse(id, "id", "a text, or null");
  if (!isTextOrNull(status)) refuse(status, "status", "a text, or null");
  if (typeof isComplete !== "boolean") refuse(isComplete, "isComplete", "true or false");
  if (!isJsonList(blocks)) refuse(blocks, "blocks", "a list of blocks");
  for (const [place, block] of blocks.entries()) checkBlock(block, `blocks[${place}]`);
  if (!isJsonObject(rest)) refuse(rest, "rest", "what the blocks do not hold, or {}");
  if (anchor !== undefined && !(isJsonObject(anchor) && isText(anchor["kind"]) && isText(anchor["id"])))
    refuse(anchor, "anchor", "{ kind, id } in texts, or leave it out");
  if (echo !== undefined && !isJsonObject(echo)) refuse(echo, "echo", "{ anchor }, or leave it out");
  if (failure !== undefined && !isFailure(failure))
    refuse(failure, "failure", "{ message, code } in texts (code may be null), or leave it out");
  if (usage !== undefined) checkUsage(usage);
}

function checkBlock(block: unknown, place: string): void {
  if (!isJsonObject(block) || !isJsonObject(block["payload"]))
    refuse(block, place, "blocks made by assistant, toolCall, reasoning and other");
  const { kind } = block;
  if (blockKinds.some((known) => known === kind)) return;
  const given = isText(kind) ? `'${kind}'` : kindOf(kind);
  throw new TypeError(
    `readAnswer returned ${given} as the kind of ${place}: ${meant(isText(kind) ? kind : "", blockKinds)}`,
  );
}

const isFailure = (given: unknown): boolean =>
  isJsonObject(given) && isText(given["message"]) && isTextOrNull(given["code"]);

function checkUsage(usage: unknown): void {
  if (!isJsonObject(usage)) refuse(usage, "usage", "{ inputTokens, outputTokens, reported }, or leave it out");
  const { reported, counts: byClass, ...counts } = usage;
  if (reported === undefined) refuse(reported, "usage.reported", "what the server reported, or null");
  if (byClass !== undefined && !countsSchema.safeParse(byClass).success)
    refuse(byClass, "usage.counts", "{ input, cacheRead, cacheWritten, output, reasoning, … }, or leave it out");
  for (const [name, count] of Object.entries(counts)) {
    if (!tokenNames.has(name))
      throw new TypeError(
        `readAnswer returned ${name} in usage: give ${[...tokenNames].join(", ")}, counts and reported`,
      );
    if (count !== undefined && !Number.isFinite(count)) refuse(count, `usage.${name}`, "a number, or leave it out");
  }
}

const tokenNames: ReadonlySet<string> = new Set([
  "inputTokens",
  "cachedInputTokens",
  "outputTokens",
  "reasoningTokens",
]);

const isText = (value: unknown): value is string => typeof value === "string";
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);

function refuse(given: unknown, member: string | null, wanted: string): never {
  const as = member === null ? "" : ` as ${member}`;
  throw new TypeError(`readAnswer returned ${kindOf(given)}${as}: give ${wanted}`);
}
