import { isJsonList, isJsonObject, type JsonObject, type JsonValue, setMember } from "../../base/json.ts";
import { NumberLiteral } from "../../base/number-literal.ts";
import { SecretReference, secretReference } from "../../domain/secret-reference.ts";
import { heldBack, type Masked, needlesOf, replaced, spansOf } from "./secret-spans.ts";

/** Masks secrets in what a provider says. Pure, but for `hasMasked`. */
export type Mask = {
  /** Whether any text was changed so far: the log then differs from what the server sent. */
  readonly hasMasked: boolean;
  /** The text with `[secret NAME]` in place of each value. */
  text(text: string): string;
  /** The same for a text that may have been cut off within a value: it masks the beginning of a value too. */
  cutText(text: string): string;
  /** The same for all texts and member names. A value without secrets stays the same object. */
  json<Json extends JsonValue>(value: Json, options?: MaskOptions): Json;
  /** How many characters at the end may be the beginning of a secret. */
  heldBack(text: string): number;
};

type MaskOptions = {
  /** The texts may have been cut off. */
  readonly isCut?: boolean;
  /** The value repeats settings: a text that is exactly a secret becomes its reference again. */
  readonly isEcho?: boolean;
};

export function createMask(masked: Masked): Mask {
  const needles = needlesOf(masked);
  let hasMasked = false;

  function maskTexts(texts: readonly string[], isCut = false): readonly string[] {
    if (needles.length === 0) return texts;
    const spans = spansOf(texts.join(""), needles, isCut);
    if (spans.length === 0) return texts;
    hasMasked = true;
    return replaced(texts, spans);
  }

  const text = (given: string, isCut = false): string => maskTexts([given], isCut)[0] ?? given;

  function maskValue(value: JsonValue, options: MaskOptions): JsonValue {
    if (typeof value === "string") {
      const whole = options.isEcho === true ? masked.find((secret) => secret.value === value) : undefined;
      return whole === undefined ? text(value, options.isCut) : secretReference(whole.name);
    }
    if (typeof value === "number" || value instanceof NumberLiteral) return maskNumber(value);
    if (isJsonList(value)) return maskList(value, options);
    return isJsonObject(value) ? maskObject(value, options) : value;
  }

  /** A number may be a secret as well; it is searched as JSON text. */
  function maskNumber(value: number | NumberLiteral): JsonValue {
    const written = String(value);
    const masked = text(written);
    return masked === written ? value : masked;
  }

  /** Readers join the texts of one speaker, even if a server has split them over messages. */
  function maskAcross(value: JsonValue): JsonValue {
    if (needles.length === 0) return value;
    const said = textsWithin(value);
    const masked = new Map<string, string[]>();
    let isSame = true;
    for (const [speaker, texts] of Map.groupBy(said, (each) => each.speaker)) {
      const given = texts.map(({ text }) => text);
      const changed = texts.length < 2 ? given : maskTexts(given);
      isSame &&= changed === given;
      masked.set(speaker, [...changed]);
    }
    return isSame ? value : withTexts(value, (speaker, text) => masked.get(speaker)?.shift() ?? text);
  }

  function maskList(list: readonly JsonValue[], options: MaskOptions): readonly JsonValue[] {
    // Readers join the texts of parts, so they are searched together.
    const said = options.isEcho === true ? [] : list.map(partText);
    const texts = maskTexts(said.map((part) => part?.text ?? ""));
    const items = list.map((item, index) => {
      const part = said[index];
      const isSame = part === null || part === undefined || part.text === texts[index];
      return maskValue(isSame ? item : { ...part.item, [part.member]: texts[index] ?? "" }, options);
    });
    return items.every((item, index) => item === list[index]) ? list : items;
  }

  function maskObject(object: JsonObject, options: MaskOptions): JsonObject {
    const copy: Record<string, JsonValue> = {};
    let isSame = true;
    for (const [name, member] of Object.entries(object)) {
      if (member === undefined) continue;
      const [maskedName, maskedMember] = [text(name), maskValue(member, options)];
      isSame &&= maskedName === name && maskedMember === member;
      setMember(copy, maskedName, maskedMember);
    }
    return isSame ? object : copy;
  }

  return {
    get hasMasked() {
      return hasMasked;
    },
    text: (given) => text(given),
    cutText: (given) => text(given, true),
    // The cast is safe: only texts and member names change, the shape stays.
    json: <Json extends JsonValue>(value: Json, options: MaskOptions = {}) =>
      maskValue(options.isEcho === true ? value : maskAcross(value), options) as Json,
    heldBack: (given) => heldBack(given, needles),
  };
}

/** A mask of the current secrets: keys that are given out during a request are masked in its answer too. */
export function currentMask(masked: () => Masked): Mask {
  let known = masked();
  let mask = createMask(known);
  let hasMasked = false;
  const current = (): Mask => {
    const now = masked();
    if (now === known) return mask;
    hasMasked ||= mask.hasMasked;
    known = now;
    mask = createMask(now);
    return mask;
  };
  return {
    get hasMasked() {
      return hasMasked || mask.hasMasked;
    },
    text: (given) => current().text(given),
    cutText: (given) => current().cutText(given),
    json: (value, options) => current().json(value, options),
    heldBack: (given) => current().heldBack(given),
  };
}

type SaidText = { readonly speaker: string; readonly text: string };

/** The texts of a value in order, each with the speaker that the objects around it name. */
function textsWithin(value: JsonValue): readonly SaidText[] {
  const said: SaidText[] = [];
  withTexts(value, (speaker, text) => {
    said.push({ speaker, text });
    return text;
  });
  return said;
}

/** Replaces each text; returns the same object if none changes. */
function withTexts(value: JsonValue, replace: (speaker: string, text: string) => string, around = ""): JsonValue {
  if (isJsonList(value)) {
    const items = value.map((item) => withTexts(item, replace, around));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isJsonObject(value) || value instanceof SecretReference) return value;
  const speaker = `${around} ${JSON.stringify([value["type"], value["role"], value["thought"]])}`;
  const copy: Record<string, JsonValue> = {};
  let isSame = true;
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const isText = typeof member === "string" && textMembers.has(name);
    const changed = isText ? replace(`${speaker} ${name}`, member) : withTexts(member, replace, speaker);
    isSame &&= changed === member;
    setMember(copy, name, changed);
  }
  return isSame ? value : copy;
}

/** The names that wires use for the text of a part, or of a message without parts. */
const textMembers: ReadonlySet<string> = new Set(["text", "refusal", "content", "thinking"]);

type PartText = { readonly item: JsonObject; readonly member: string; readonly text: string };

function partText(item: JsonValue): PartText | null {
  if (!isJsonObject(item)) return null;
  const member = ["text", "refusal"].find((name) => typeof item[name] === "string");
  const text = member === undefined ? undefined : item[member];
  return member !== undefined && typeof text === "string" ? { item, member, text } : null;
}
