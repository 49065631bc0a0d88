import { isJsonObject } from "../base/json.ts";
import {
  anything,
  checkChoice,
  checkFlag,
  kindOf,
  type OptionSchema,
  optionsOf,
  textOf,
  type ValueCheck,
} from "../base/options.ts";
import { type Actor, actorSchema } from "../domain/actor.ts";
import type { Block } from "../domain/block.ts";
import { checkedConversationId } from "../domain/ids.ts";
import { maxTimerMs } from "../engine/ports/limits.ts";
import type { CancelOptions } from "../engine/run/cancel.ts";

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

/** The actor of a fork, revert or relabel. */
export type ActorOption = { readonly actor?: Extract<Actor, { readonly kind: (typeof users)[number] }> };

const authors = ["user", "app", "import", "operator"] as const;
const users = ["user", "app", "operator"] as const;

const appendOptions = optionsOf<AppendOptions>({ key: textOf("the message's id, or leave it out"), actor: anything });
const byWhomOptions = optionsOf<ActorOption>({ actor: anything });

/** The actor, and one more option. */
export const forkOptions = optionsOf<ActorOption & { readonly id?: string }>({ actor: anything, id: anything });
export const revertOptions = optionsOf<ActorOption & { readonly before?: boolean }>({
  actor: anything,
  before: checkFlag,
});
export const skipOptions = optionsOf<ActorOption & { readonly allThatFollow?: boolean }>({
  ...{ actor: anything, allThatFollow: anything },
});

/** The new title and labels of a conversation. */
export type ConversationLabels = {
  readonly title?: string;
  /** Changed labels; null removes one. */
  readonly labels?: Readonly<Record<string, string | null>>;
};

const labelOptions = optionsOf<ConversationLabels>({
  title(what, given) {
    if (typeof given === "string") return given;
    throw new TypeError(`${what} is ${kindOf(given)}: give a text`);
  },
  labels(what, given) {
    if (!isJsonObject(given)) throw new TypeError(`${what} is ${kindOf(given)}: give { name: "value" }`);
    return Object.fromEntries(Object.entries<unknown>(given).map((label) => checkedLabel(what, label)));
  },
});

function checkedLabel(what: string, [name, value]: readonly [string, unknown]): readonly [string, string | null] {
  if (name === "__proto__")
    throw new TypeError("relabel: a label cannot be named __proto__, which JavaScript reserves: choose another name");
  if (typeof value === "string" || value === null) return [name, value];
  throw new TypeError(`${what}.${name} is ${kindOf(value)}: a label's value is a text, or null to remove it`);
}

/** Names exactly as given. */
export function checkedLabels(data: ConversationLabels): ConversationLabels {
  labelOptions.check("relabel", data);
  return data;
}

/** The author of the appended blocks. */
export function checkedAppend(options: AppendOptions): { readonly actor: Actor } {
  appendOptions.check("append", options);
  const { actor = { kind: "user" } } = options;
  return { actor: checkedActor("append", actor, authors) };
}

/** Checks the actor of a change to a whole conversation. */
export function checkedByWhom<Options extends ActorOption>(
  where: string,
  options: Options,
  { check }: Pick<OptionSchema<Options>, "check"> = byWhomOptions,
): Actor {
  check(where, options);
  return checkedActor(where, options.actor ?? { kind: "user" }, users);
}

const actorMembers = optionsOf<{ readonly kind: string; readonly name?: string }>({ kind: anything, name: anything });

/**
 * Checks the actor that a caller claims to be.
 *
 * @throws {TypeError} if it is not an actor, or one that callers cannot be: a provider, a layer, the engine.
 */
export function checkedActor(where: string, actor: unknown, kinds: readonly string[] = users): Actor {
  if (!isJsonObject(actor)) throw new TypeError(`${where}: actor is ${kindOf(actor)}: give { kind: "user" }`);
  checkChoice(`${where}: actor.kind`, actor["kind"], kinds);
  actorMembers.checkNames(`${where}: actor`, actor);
  const { name, ...who } = actor;
  const parsed = actorSchema.safeParse(name === undefined ? who : actor);
  if (parsed.success) return parsed.data;
  throw new TypeError(`${where}: actor.name is ${kindOf(name)}: give a text, or leave it out`);
}

/** Milliseconds that a timer can wait, 0 among them. */
export const waitMs: ValueCheck<number> = (what, given) => {
  if (Number(given) >= 0 && Number(given) <= maxTimerMs) return Number(given);
  throw new RangeError(`${what} is ${String(given)}: give milliseconds, from 0 to ${maxTimerMs}`);
};

const cancelOptions = optionsOf<CancelOptions>({
  ...{ reason: textOf("why the run is to end"), actor: anything, waitMs },
});

/** Checks the options of `cancel`. */
export function checkedCancel(options: CancelOptions): CancelOptions {
  cancelOptions.check("cancel", options);
  const { actor } = options;
  return actor === undefined ? options : { ...options, actor: checkedActor("cancel", actor) };
}

/** What to erase. Several members name several things; at least one is needed. */
export type ErasureTargets = {
  /** Whole conversations, by id. */
  readonly conversations?: readonly string[];
  /** All content of these events. */
  readonly revisions?: readonly { readonly conversation: string; readonly revision: number }[];
  /** The content of these blocks, in every version. */
  readonly blocks?: readonly { readonly conversation: string; readonly block: string }[];
  /** Everything in which one of these texts occurs. */
  readonly texts?: readonly string[];
  /** Where the texts are searched: in these conversations and their forks and children. Default: in all. */
  readonly in?: readonly string[];
  /** Whole conversations with the label `subject` of this value, and what the actor of this name wrote in others: blocks in every version. */
  readonly subject?: string;
  /** Also texts that are very short or very frequent. */
  readonly all?: boolean;
};

const listOfIds: ValueCheck<readonly string[]> = (what, given) => {
  if (Array.isArray(given)) return given.map(checkedConversationId);
  throw new TypeError(`${what} is ${kindOf(given)}: give a list of ids`);
};

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

const placesWith =
  <Name extends string, Value>(name: Name, isValid: (value: unknown) => value is Value) =>
  (what: string, given: unknown): readonly (Readonly<Record<Name, Value>> & { readonly conversation: string })[] => {
    const isPlace = (each: unknown): each is Record<Name, Value> & { readonly conversation: string } =>
      isJsonObject(each) && Object.keys(each).length === 2 && isValid(each[name]) && isText(each["conversation"]);
    const places: readonly unknown[] = Array.isArray(given) ? given : [null];
    if (!places.every(isPlace))
      throw new TypeError(`${what} is ${kindOf(given)}: give a list of { conversation, ${name} }`);
    for (const { conversation } of places) checkedConversationId(conversation);
    return places;
  };

export const planErasureOptions = optionsOf<ErasureTargets>({
  conversations: listOfIds,
  revisions: placesWith("revision", (value): value is number => Number.isSafeInteger(value)),
  blocks: placesWith("block", isText),
  texts: (what, given) => {
    const texts: readonly unknown[] = Array.isArray(given) ? given : [];
    if (texts.length > 0 && texts.every(isText)) return texts;
    throw new TypeError(`${what} is ${kindOf(given)}: give a list of texts`);
  },
  in: listOfIds,
  subject: textOf("a label's value, or an actor's name"),
  all: (what, given) => {
    if (typeof given === "boolean") return given;
    throw new TypeError(`${what} is ${kindOf(given)}: give true or false`);
  },
});
