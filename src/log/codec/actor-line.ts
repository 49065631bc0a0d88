import { parseJson } from "../../base/json.ts";
import { type Actor, isActor, isCaller } from "../../domain/actor.ts";
import type { BlockNames } from "../../domain/block-names.ts";
import type { Envelope } from "../ports/event-store.ts";
import { isErasedLine, saltLength } from "./lines.ts";

/** The name that a caller gave an actor, for the last line of an event in lines; null for others, whose names are facts. */
export const nameGiven = (actor: Actor): string | null => (isCaller(actor) ? (actor.name ?? null) : null);

/**
 * The actor as the envelope of an event in lines has it: with an alias in place of a name, because no erasure changes the envelope.
 *
 * @param names - Of the conversation: the alias depends on its key.
 */
export function withoutName(actor: Actor, names: () => BlockNames): Actor {
  if (!isCaller(actor)) return actor;
  const { kind, name, alias } = actor;
  if (name === undefined) return alias === undefined ? actor : { kind };
  return { kind, alias: names().aliasOf(name) };
}

/** The actor of an event: with the name, or if that was erased or is damaged, with its alias. */
export function actorOf({ actor, encoding, data }: Pick<Envelope, "actor" | "encoding" | "data">): Actor {
  // No other actor has an alias. Asked first, because every event passes here and few have one.
  if (encoding !== "lines" || !mayHaveAlias(actor) || !isActor(actor) || !("alias" in actor)) return actor;
  const line = data.slice(data.lastIndexOf("\n") + 1);
  const name = isErasedLine(line) ? null : nameIn(line.slice(saltLength));
  if (name === null) return actor;
  const { alias: _, ...who } = actor;
  return { ...who, name };
}

/** The stored value may be damaged. */
const mayHaveAlias = (actor: unknown): boolean => typeof actor === "object" && actor !== null && "alias" in actor;

function nameIn(json: string): string | null {
  try {
    const name = parseJson(json);
    return typeof name === "string" ? name : null;
  } catch {
    return null;
  }
}
