import { createContext, Script } from "node:vm";
import { isJsonList, isJsonObject } from "../../base/json.ts";
import { meant } from "../../base/options.ts";
import type { Actor } from "../../domain/actor.ts";
import { conversationEventSchema } from "../../domain/events/event.ts";
import { UsageError } from "./exit-codes.ts";

/** Filters for events, by option: an event is shown if it passes all of them. */
export type FilterOptions = {
  /** ISO time: excludes earlier events. */
  readonly since?: string;
  /** A regular expression that matches the event's line, or a text in its data. */
  readonly grep?: string;
  readonly ignoreCase?: boolean;
  readonly type?: readonly string[];
  readonly actor?: readonly string[];
};

/** What a filter reads of an event. */
export type FilteredEvent = {
  readonly at: string;
  readonly type?: string;
  readonly actor: Actor | null;
  readonly words: string;
  /** Null if it cannot be read. */
  readonly data: unknown;
};

/**
 * Builds a filter from options.
 *
 * @throws {UsageError} for a type that no event has, or an invalid pattern.
 */
export function eventFilter({
  since,
  grep,
  ignoreCase = false,
  type,
  actor,
}: FilterOptions): (event: FilteredEvent) => boolean {
  const isFound = grep === undefined ? null : finderOf(grep, ignoreCase);
  const types = type && new Set(type.flatMap(typesNamed));
  return (event) =>
    (since === undefined || event.at >= since) &&
    (types === undefined || (event.type !== undefined && types.has(event.type))) &&
    (actor === undefined || actor.some((name) => isBy(name, event.actor))) &&
    (isFound === null || isFound([event.words, ...textsIn(event.data)]));
}

/** A pattern such as `(a+)+b` may run for years on one text, and only a script with a time limit can be stopped. */
function finderOf(text: string, ignoreCase: boolean): (texts: readonly string[]) => boolean {
  const pattern = patternOf(text, ignoreCase);
  // A pattern without repetition is fast, and the time limit would cost more than the search.
  if (!/[*+?{]/.test(text)) return (texts) => texts.some((each) => pattern.test(each));
  const script = new Script("texts.some((text) => pattern.test(text))");
  return (texts) => {
    try {
      return script.runInContext(createContext({ pattern, texts }), { timeout: grepLimitMs }) === true;
    } catch (error) {
      // The error may come from the script's own realm, where `instanceof` fails.
      if (Reflect.get(Object(error), "code") !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      throw new UsageError(
        `--grep: '${text}' takes longer than ${grepLimitMs / 1_000} s on the texts of one event: avoid a repetition inside a repetition`,
        { cause: error },
      );
    }
  };
}

const grepLimitMs = 1_000;

function patternOf(text: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(text, ignoreCase ? "iu" : "u");
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(": ").at(-1) ?? "") : "";
    throw new UsageError(
      `--grep: '${text}' is not a valid regular expression (${reason.toLowerCase()}): put a backslash before a literal ( ) [ ] { } * + ? . ^ $ |`,
      { cause: error },
    );
  }
}

const eventTypes: readonly string[] = conversationEventSchema.options.map(({ shape }) => shape.type.value);

/** The types with this name or beginning, regardless of case. */
function typesNamed(typed: string): readonly string[] {
  const found = eventTypes.filter((type) => type.toLowerCase().startsWith(typed.toLowerCase()));
  if (found.length > 0) return found;
  throw new UsageError(`--type: there is no event type '${typed}': ${meant(typed, eventTypes)}`);
}

/** Whether the actor has this kind (`user`, `middleware`), name, or name and version as lines show them. */
function isBy(name: string, actor: Actor | null): boolean {
  if (actor === null) return false;
  if (actor.kind === name || ("name" in actor && actor.name === name)) return true;
  return actor.kind === "middleware" && `${actor.name}@${actor.version}` === name;
}

function* textsIn(value: unknown): Iterable<string> {
  if (typeof value === "string") yield value;
  else if (isJsonList(value) || isJsonObject(value)) for (const each of Object.values(value)) yield* textsIn(each);
}
