import { type Block, idOf } from "../domain/block.ts";
import type { DeltaFilter, DeltaRule } from "../engine/ports/deltas.ts";
import { type AsideView, defineMiddleware, type Layer } from "../engine/ports/middleware.ts";
import { hideSecrets } from "./hide-secrets.ts";
import { checkedRedaction, type RedactOptions } from "./redact-options.ts";
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
