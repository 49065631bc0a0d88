import { createHash } from "node:crypto";
import { type Json, type JsonObject, valueAt } from "../wire.ts";
import type { CacheFacts, PromptPart } from "./facts.ts";

/** What a server compares as a whole: a setting, a tool, the instructions, a message or a content block. */
export interface PromptUnit {
  /** Its place in a request that sends everything: `settings.model`, `tools.0`, `messages.3.content.1`, `input.2`. */
  readonly path: string;
  readonly kind: PromptPart | "setting";
  /** Its text as read: without breakpoints, and without ids that the model does not read. */
  readonly text: string;
  readonly tokens: number;
  /** Who says it, if boundaries depend on that. */
  readonly by?: "user" | "developer" | "call" | "result" | undefined;
  /** The lifetime that a breakpoint on it asks for. */
  readonly breakpoint?: string | undefined;
}

/** A unit in its prompt, without its text: a digest of everything up to it, and the tokens of that. */
export interface PromptPlace {
  readonly unit: Pick<PromptUnit, "path" | "kind" | "by" | "breakpoint">;
  readonly digest: string;
  readonly tokens: number;
}

/** A size that depends only on the text: four characters are a token. */
export const tokensIn = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);

/** Units whose texts are their JSON, from a list of tools, messages or contents. */
export const unitsIn = (kind: PromptPart, name: string, values: readonly Json[]): readonly PromptUnit[] =>
  values.map((value, n) => unitOf(kind, `${name}.${n}`, JSON.stringify(value)));

/** A unit of a text. */
export const unitOf = (kind: PromptPart, path: string, text: string): PromptUnit => ({
  ...{ kind, path, text, tokens: tokensIn([text]) },
});

/** The units of a prompt in the order in which a front reads them, with the settings that are part of its prefix. */
export const inOrder = (
  { order, settings }: Pick<CacheFacts, "order" | "settings">,
  body: JsonObject,
  units: readonly PromptUnit[],
): readonly PromptUnit[] =>
  order.flatMap((part) => [
    ...settings.filter(({ before }) => before === part).map(({ path }) => settingUnit(path, body)),
    ...units.filter(({ kind }) => kind === part),
  ]);

const settingUnit = (path: string, body: JsonObject): PromptUnit => ({
  ...{ kind: "setting", path: `settings.${path}`, tokens: 0 },
  text: JSON.stringify([path, valueAt(body, path)]),
});

/** The places of a prompt, after those of its beginning. */
export function placesOf(units: readonly PromptUnit[], start?: PromptPlace): readonly PromptPlace[] {
  let { digest, tokens } = start ?? { digest: "", tokens: 0 };
  return units.map((unit) => {
    digest = createHash("sha256").update(digest).update("\0").update(unit.text).digest("base64");
    tokens += unit.tokens;
    const { path, kind, by, breakpoint } = unit;
    return { unit: { path, kind, by, breakpoint }, digest, tokens };
  });
}
