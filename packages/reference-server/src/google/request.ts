import type { Refusal } from "../refusals.ts";
import { isArray, isObject, type JsonObject, objectsOf, stringOf } from "../wire.ts";
import * as refuse from "./refusals.ts";

/** What the server knows besides the body. */
interface Asked {
  readonly model: string;
  readonly models: readonly string[] | undefined;
  /** Whether this server issued the signature, or it is an accepted replacement. */
  readonly isAuthentic: (signature: string) => boolean;
}

const fields = new Set(
  "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels serviceTier model".split(
    " ",
  ),
);

/** The members of a part, of which it has exactly one. */
const dataMembers =
  "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse".split(
    " ",
  );

/** What is wrong with a request, in Google's words: its fields, its contents, calls and results, then signatures. */
export function checkRequest(body: JsonObject, { model, models, isAuthentic }: Asked): Refusal | undefined {
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) return refuse.unknownName(unknown);
  if (models?.includes(model) === false) return refuse.unknownModel(model);
  const contents = objectsOf(body["contents"]);
  if (!isArray(body["contents"]) || contents.length === 0) return refuse.noContents();
  for (const [at, content] of contents.entries()) {
    const wrong = checkContent(content, at);
    if (wrong !== undefined) return wrong;
  }
  const signatures = contents.flatMap(partsOf).flatMap((part) => stringOf(part["thoughtSignature"]) ?? []);
  if (!signatures.every(isAuthentic)) return refuse.badSignature();
  return checkPairs(contents) ?? (checksSignatures(model) ? checkSigned(contents) : undefined);
}

/** Models from the third generation on check the signatures of the current turn. */
const checksSignatures = (model: string): boolean => /^gemini-([3-9]|\d\d)/.test(model);

export const partsOf = ({ parts = null }: JsonObject): readonly JsonObject[] => objectsOf(parts);

function checkContent(content: JsonObject, at: number): Refusal | undefined {
  const { role = "user" } = content;
  if (role !== "user" && role !== "model") return refuse.unknownRole();
  const parts = partsOf(content);
  if (parts.length === 0) return refuse.noParts(at);
  // An empty text counts as data: the server accepts it.
  const empty = parts.findIndex((part) => !dataMembers.some((name) => name in part));
  return empty >= 0 ? refuse.noData(at, empty) : undefined;
}

const callsIn = (content: JsonObject | undefined): readonly JsonObject[] =>
  content === undefined ? [] : partsOf(content).flatMap((part) => objectsOf([part["functionCall"] ?? null]));
const resultsIn = (content: JsonObject | undefined): readonly JsonObject[] =>
  content === undefined ? [] : partsOf(content).flatMap((part) => objectsOf([part["functionResponse"] ?? null]));

/** The calls of a content are followed by their results, in number and order; results are allowed nowhere else. */
function checkPairs(contents: readonly JsonObject[]): Refusal | undefined {
  for (const [at, content] of contents.entries()) {
    const isModels = content["role"] === "model";
    const results = resultsIn(content);
    const calls = callsIn(content);
    if (!isModels && calls.length > 0) return refuse.callOutOfPlace();
    if (results.length > 0) {
      const asked = at === 0 || isModels ? [] : callsIn(contents[at - 1]);
      if (asked.length === 0) return refuse.resultOutOfPlace();
      if (asked.length !== results.length) return refuse.unequalResults();
      const isInOrder = results.every(({ id = null, name = null }, n) => {
        const { id: called = null, name: expected = null } = asked[n] ?? {};
        return expected === name && called === id;
      });
      if (!isInOrder) return refuse.resultOutOfPlace();
    }
    if (calls.length > 0 && resultsIn(contents[at + 1]).length === 0) return refuse.unequalResults();
  }
  return undefined;
}

/** The first call of each step must be signed, from the user's last message on. */
function checkSigned(contents: readonly JsonObject[]): Refusal | undefined {
  const isSaid = (content: JsonObject): boolean =>
    content["role"] !== "model" && partsOf(content).some((part) => !isObject(part["functionResponse"]));
  const start = contents.findLastIndex(isSaid);
  for (const [at, content] of contents.entries()) {
    if (at < start) continue;
    const first = partsOf(content).find((part) => isObject(part["functionCall"]));
    if (first === undefined || first["thoughtSignature"] !== undefined) continue;
    return refuse.unsignedCall(stringOf(callsIn(content)[0]?.["name"]) ?? "", at + 1);
  }
  return undefined;
}
