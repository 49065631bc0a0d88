import * as z from "zod";
import { isJsonObject } from "../base/json.ts";
import { actorAliasSchema } from "./ids.ts";

/** Who may have a name that the caller gave, and an alias in its place once the name is erased. */
const named = { name: z.exactOptional(z.string()), alias: z.exactOptional(actorAliasSchema) };

/**
 * Who made an event or a change (rule: Every change has an author): the names that an auditor sees. Layers and tools have the names that
 * the stack declares. In a conversation in lines, the name of a person is content and can be erased.
 */
export const actorSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("user"), ...named }),
  z.strictObject({ kind: z.literal("app"), ...named }),
  z.strictObject({ kind: z.literal("provider"), name: z.string(), inferenceId: z.string() }),
  z.strictObject({
    kind: z.literal("middleware"),
    name: z.string(),
    version: z.string(),
    frame: z.string(),
    direction: z.enum(["request", "response"]),
  }),
  z.strictObject({ kind: z.literal("tool"), name: z.string() }),
  z.strictObject({ kind: z.literal("engine") }),
  z.strictObject({ kind: z.literal("recovery") }),
  z.strictObject({ kind: z.literal("import"), ...named }),
  z.strictObject({ kind: z.literal("operator"), ...named }),
]);
export type Actor = z.infer<typeof actorSchema>;

/** An actor whose name, if it has one, the caller gave. */
type Caller = Extract<Actor, { readonly kind: "user" | "app" | "import" | "operator" }>;

export const isCaller = (actor: Actor): actor is Caller =>
  actor.kind === "user" || actor.kind === "app" || actor.kind === "import" || actor.kind === "operator";

/**
 * Whether a stored value can be shown as an actor. Another version may have allowed other names: an actor that today's schema rejects
 * is still an actor.
 */
export const isActor = (value: unknown): value is Actor =>
  isJsonObject(value) &&
  typeof value["kind"] === "string" &&
  Object.values(value).every((member) => member === undefined || typeof member === "string");

/** Describes the actor in one short phrase: `middleware redact-emails@1.0.0 (request, frame 0.1)`. */
export function describeActor(actor: Actor): string {
  switch (actor.kind) {
    case "middleware":
      return `middleware ${actor.name}@${actor.version} (${actor.direction}, frame ${actor.frame})`;
    case "provider":
      return `provider ${actor.name} (${actor.inferenceId})`;
    case "tool":
      return `tool ${actor.name}`;
    case "engine":
    case "recovery":
      return actor.kind;
    default:
      return actor.name === undefined ? withAlias(actor) : `${actor.kind} ${actor.name}`;
  }
}

/** `user`, or `user#1f0c93ab` for a person whose name was erased: of one conversation, the same person has the same alias. */
export const withAlias = ({ kind, alias }: { readonly kind: string; readonly alias?: string }): string =>
  alias === undefined ? kind : `${kind}#${alias.slice(0, 8)}`;
