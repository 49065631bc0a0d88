import { isJsonObject } from "../base/json.ts";
import { checkChoice, checkOptions, checkText, kindOf, type OptionNames } from "../base/options.ts";
import { type Actor, actorSchema } from "../domain/actor.ts";
import type { Block } from "../domain/block.ts";
import type { CancelOptions } from "../engine/run/cancel.ts";
import { maxTimerMs } from "../engine/stack/limits.ts";

/** How to append a block to a conversation. */
export type AppendOptions = {
  /** The same key never appends twice: use it for messages that may be delivered twice. */
  readonly key?: string;
  readonly actor?: Extract<Actor, { readonly kind: (typeof authors)[number] }>;
};

/** The result of an append. */
export type Appended = {
  /** The blocks as recorded. */
  readonly blocks: readonly Block[];
  /** False if the key had been used, so that nothing was appended. */
  readonly isNew: boolean;
};

/** Who forks, reverts, or relabels. */
export type ActorOption = { readonly actor?: Extract<Actor, { readonly kind: (typeof users)[number] }> };

const authors = ["user", "app", "import", "operator"] as const;
const users = ["user", "app", "operator"] as const;

const appendNames: OptionNames<AppendOptions> = { key: true, actor: true };
const byWhomNames: OptionNames<ActorOption> = { actor: true };

/** The new title and labels of a conversation. */
export type ConversationLabels = {
  readonly title?: string;
  /** Changed labels; null removes one. */
  readonly labels?: Readonly<Record<string, string | null>>;
};

const labelNames: OptionNames<ConversationLabels> = { title: true, labels: true };

/** Names exactly as given. */
export function checkedLabels(data: ConversationLabels): ConversationLabels {
  checkOptions("relabel", data, labelNames);
  const { title, labels = {} } = data;
  if (title !== undefined && typeof title !== "string")
    throw new TypeError(`relabel: title is ${kindOf(title)}: give a text`);
  if (!isJsonObject(labels)) throw new TypeError(`relabel: labels is ${kindOf(labels)}: give { name: "value" }`);
  for (const [name, value] of Object.entries<unknown>(labels)) {
    if (name === "__proto__")
      throw new TypeError(
        "relabel: a label cannot be called __proto__, which JavaScript reads as no name: choose another",
      );
    if (typeof value !== "string" && value !== null)
      throw new TypeError(
        `relabel: labels.${name} is ${kindOf(value)}: a label's value is a text, or null to take it away`,
      );
  }
  return data;
}

/** The author of the appended blocks. */
export function checkedAppend(options: AppendOptions): { readonly actor: Actor } {
  checkOptions("append", options, appendNames);
  const { key, actor = { kind: "user" } } = options;
  if (key === "" || (key !== undefined && typeof key !== "string"))
    throw new TypeError(`append: key is ${kindOf(key)}: give the message's own id, or none`);
  return { actor: checkedActor("append", actor, authors) };
}

/** Checks who changes a conversation as a whole; `others` are the other options of the call. */
export function checkedByWhom(where: string, options: ActorOption, others: Readonly<Record<string, true>> = {}): Actor {
  checkOptions(where, options, { ...byWhomNames, ...others });
  return checkedActor(where, options.actor ?? { kind: "user" }, users);
}

/**
 * Checks the actor that a caller claims to be.
 *
 * @throws {TypeError} if it is not an actor, or one that callers cannot be: a provider, a layer, the engine.
 */
export function checkedActor(where: string, actor: unknown, kinds: readonly string[] = users): Actor {
  if (!isJsonObject(actor)) throw new TypeError(`${where}: actor is ${kindOf(actor)}: give { kind: "user" }`);
  checkChoice(`${where}: actor.kind`, actor["kind"], kinds);
  const known = { kind: true, name: true } as const;
  checkOptions(`${where}: actor`, actor, known);
  const { name, ...who } = actor;
  const parsed = actorSchema.safeParse(name === undefined ? who : actor);
  if (parsed.success) return parsed.data;
  throw new TypeError(`${where}: actor.name is ${kindOf(name)}: give a text, or none`);
}

const cancelNames: OptionNames<CancelOptions> = { reason: true, actor: true, waitMs: true };

/** Checks the options of `cancel`. */
export function checkedCancel(options: CancelOptions): CancelOptions {
  checkOptions("cancel", options, cancelNames);
  const { reason, actor, waitMs = 0 } = options;
  if (reason !== undefined) checkText("cancel: reason", reason, "why the run is to end");
  if (!(waitMs >= 0 && waitMs <= maxTimerMs))
    throw new RangeError(`cancel: waitMs is ${waitMs}: give milliseconds, from 0 to ${maxTimerMs}`);
  return actor === undefined ? options : { ...options, actor: checkedActor("cancel", actor) };
}
