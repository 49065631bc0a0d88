import { createHmac } from "node:crypto";
import { sha256Hex } from "../base/sha256.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import { type Block, idOf } from "../domain/block.ts";
import type { DeltaFilter, DeltaRule } from "../engine/ports/deltas.ts";
import { type AsideView, defineMiddleware, type Layer } from "../engine/ports/middleware.ts";
import { type FoundSpan, occurrencesOf } from "./detectors.ts";
import { checkedRedaction, type Detector, type RedactOptions } from "./redact-options.ts";
import { type Secret, Secrets } from "./secrets.ts";
import { applied, editBlock, editText, escaped, type TextEdit } from "./text-edits.ts";
import { createView } from "./view.ts";

/**
 * Hides values from the model that the client keeps: addresses, numbers of cards, names. It restores them in answers and in the arguments of
 * calls, before the tools run. It hides them in what outer layers ask with `ctx.infer`, and in requests for summaries, too.
 *
 * The layer keeps nothing: the values of a conversation are found in its Turn, each time. So no value of another conversation is ever
 * restored, and a restart loses none. A value is hidden from the first block on in which a detector finds it.
 *
 * @throws {TypeError} if an option is unknown or invalid.
 */
export function redact(options: RedactOptions): Layer {
  const { name, version, config, ...hiding } = checkedRedaction(options);
  const view = createView<Secrets>(Secrets.none, {
    hide: (block, { known }) => hideSecrets(block, known, hiding),
    restore: (said, { shown, known }) =>
      restoreSecrets(said, shown, (block) => hideSecrets(block, known(), hiding).form),
  });
  const asides: AsideView = (turn, ctx) => {
    const shown = view.show(turn, ctx);
    return { turn: shown.turn, answer: (text) => editText(text, restoring(shown.known)) };
  };
  const deltas: DeltaRule = ({ kind }, { given, conversationId, runId }) =>
    kind === "reasoning"
      ? null
      : restoredDeltas(view.show(given, { conversationId, runId }).known, kind === "tool-call");
  return defineMiddleware({ name, version, config, asides, deltas }, (next) => async (turn, ctx) => {
    const shown = view.show(turn, ctx);
    return shown.restore(await next(shown.turn));
  });
}

/** The client's form of what the model said. A value is restored only where it is hidden again: a detector may need the words around it. */
function restoreSecrets(said: Block, shown: Secrets, hide: (block: Block) => Block): Block {
  const kept = new Set<string>();
  for (;;) {
    const found = new Set<Secret>();
    const restored = editBlock(said, restoring(shown, { kept, found }));
    if (restored === said) return said;
    const texts = textsOf(hide(restored.withId(idOf(said))));
    const leaked = [...found].filter(({ value }) => texts.some((text) => text.includes(value)));
    if (leaked.length === 0) return restored;
    for (const { placeholder } of leaked) kept.add(placeholder);
  }
}

/** Restores values in a text that arrives in pieces: what may become a placeholder is held back. In JSON a value is escaped. */
function restoredDeltas(shown: Secrets, isCall: boolean): DeltaFilter {
  let held = "";
  let isJson = isCall ? true : null;
  const show = (text: string): string => {
    const edits = restoring(shown)(text);
    return applied(text, isJson === true ? edits.map((edit) => ({ ...edit, text: escaped(edit.text) })) : edits);
  };
  return {
    take(text) {
      held += text;
      isJson ??= /\S/.test(held) ? /^\s*(\{|\[\s*[{"\d])/.test(held) : null;
      const at = held.search(/\[(?:[a-z][a-z\d-]{0,99})?$/);
      const ready = at < 0 ? held : held.slice(0, at);
      held = held.slice(ready.length);
      return show(ready);
    },
    end() {
      const rest = held;
      held = "";
      return show(rest);
    },
  };
}

type Restoring = { readonly kept?: ReadonlySet<string>; readonly found?: Set<Secret> };

/** Puts values in the places of their placeholders, except for those that are kept. */
function restoring(shown: Secrets, { kept, found }: Restoring = {}): (plain: string) => readonly TextEdit[] {
  return (plain) =>
    Array.from(plain.matchAll(/\[[a-z][a-z\d-]*-[\da-f]{6,64}\]/g)).flatMap(({ 0: placeholder, index }) => {
      const secret = kept?.has(placeholder) === true ? undefined : shown.shownAs(placeholder);
      if (secret === undefined) return [];
      found?.add(secret);
      return [{ start: index, end: index + placeholder.length, text: secret.value }];
    });
}

function textsOf(block: Block): readonly string[] {
  const texts: string[] = [];
  editBlock(block, (plain) => {
    texts.push(plain);
    return [];
  });
  return texts;
}

/** What to hide, and the key of digests. */
type Hiding = { readonly detectors: readonly Detector[]; readonly key: string | undefined };

/** A stretch to hide: of a value that is known, or of a new one. */
type SecretSpan = FoundSpan & Pick<Detector, "kind" | "strategy"> & { readonly secret?: Secret };

/**
 * The model's form of a block, and the values that later blocks hide as well, wherever they have them.
 *
 * @throws {TurnlogError} `content-blocked` for a value that must not be sent.
 */
function hideSecrets(block: Block, known: Secrets, hiding: Hiding): { readonly form: Block; readonly known: Secrets } {
  const own = new Map<string, Secret>();
  const edit = (plain: string): readonly TextEdit[] =>
    spansIn(plain, { known, own, hiding }).map(({ start, end, kind, strategy, ...span }) => {
      const value = plain.slice(start, end);
      const secret =
        span.secret ??
        known.of(value) ??
        own.get(value) ??
        newSecret({ value, kind, strategy }, { block, known, own, hiding });
      own.set(secret.value, secret);
      if (secret.strategy === "block" && !isOfModel(block)) throw blocked(block, kind);
      return { start, end, text: secret.placeholder };
    });
  // A value that is found in one text of the block is hidden in all of them.
  editBlock(block, (plain) => {
    edit(plain);
    return [];
  });
  if (own.size === 0) return { form: block, known };
  const form = editBlock(block, edit);
  return { form, known: known.with([...own.values()].filter(({ value }) => known.of(value) === undefined)) };
}

/** The model's own words: to refuse them would end every later run. */
const isOfModel = ({ kind }: Block): boolean => kind === "assistant" || kind === "tool_call";

const blocked = ({ id, kind }: Block, found: string): TurnlogError<"content-blocked"> =>
  new TurnlogError(
    "content-blocked",
    `block ${id} (${kind}) has a value of kind '${found}', which must not be sent: remove the block, or revert to before it`,
  );

type Finding = { readonly known: Secrets; readonly own: ReadonlyMap<string, Secret>; readonly hiding: Hiding };

/** What to hide in a text, in order. Stretches that overlap are one. */
function spansIn(plain: string, { known, own, hiding }: Finding): readonly SecretSpan[] {
  const found: SecretSpan[] = hiding.detectors.flatMap(({ find, kind, strategy }) =>
    find(plain).map((span) => ({ ...span, kind, strategy })),
  );
  // A text may quote JSON.
  for (const secrets of [known.values, own.values()])
    for (const secret of secrets)
      for (const form of new Set([secret.value, escaped(secret.value)]))
        for (const span of occurrencesOf(form, plain)) found.push({ ...span, ...secret, secret });
  found.sort((left, right) => left.start - right.start || right.end - left.end);
  const merged: SecretSpan[] = [];
  for (const span of found) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = overlapOf(last, span);
    else if (span.start === last.start && span.end === last.end && span.secret !== undefined)
      merged[merged.length - 1] = { ...last, secret: span.secret };
  }
  return merged;
}

/** Two stretches that overlap, as one new value of the longer one's kind. */
function overlapOf(left: SecretSpan, right: SecretSpan): SecretSpan {
  const { kind, strategy } = right.end - right.start > left.end - left.start ? right : left;
  return { start: left.start, end: right.end, kind, strategy };
}

type NewSecret = { readonly value: string } & Pick<Detector, "kind" | "strategy">;

function newSecret(
  { value, kind, strategy }: NewSecret,
  { block, known, own, hiding }: Finding & { readonly block: Block },
): Secret {
  switch (strategy) {
    case "restore":
      return { value, kind, strategy, placeholder: freshName({ value, kind }, { block, known, own }) };
    case "mask":
      return { value, kind, strategy, placeholder: masked(value) };
    case "hash": {
      const digest = createHmac("sha256", hiding.key ?? "")
        .update(`${kind}\n${value}`)
        .digest("hex");
      return { value, kind, strategy, placeholder: `[${kind}:${digest.slice(0, 16)}]` };
    }
    default:
      return { value, kind, strategy, placeholder: `[${kind}]` };
  }
}

/**
 * A name for a value that no other value of the conversation has. It does not depend on the number of values before, so it never comes to
 * mean another one. Nobody who does not know the block's id, which is random and never sent, can confirm a guess of the value.
 */
function freshName(
  { value, kind }: Pick<NewSecret, "value" | "kind">,
  { block, known, own }: Omit<Finding, "hiding"> & { readonly block: Block },
): string {
  const digest = sha256Hex(`turnlog/redact/v1\n${idOf(block)}\n${kind}\n${value}`);
  for (let length = 6; length < digest.length; length += 1) {
    const name = `[${kind}-${digest.slice(0, length)}]`;
    const isTaken =
      known.shownAs(name) !== undefined || [...own.values()].some(({ placeholder }) => placeholder === name);
    if (!isTaken) return name;
  }
  return `[${kind}-${digest}]`;
}

/** Letters and digits as stars, but for the last four, or a quarter of a short value. */
function masked(value: string): string {
  if (value.length > 40) return `****${value.slice(-4)}`;
  const count = value.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  let left = count - Math.min(4, Math.floor(count / 4));
  return value.replace(/[\p{L}\p{N}]/gu, (sign) => {
    left -= 1;
    return left >= 0 ? "*" : sign;
  });
}
