import * as z from "zod";
import { isJsonObject } from "../base/json.ts";

/**
 * Who made an event or a change (rule: Every change has an author): the names that an auditor sees. Layers and tools have the names that
 * the stack declares. Nothing here is content of a conversation.
 */
export const actorSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("user"), name: z.exactOptional(z.string()) }),
  z.strictObject({ kind: z.literal("app"), name: z.exactOptional(z.string()) }),
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
  z.strictObject({ kind: z.literal("import"), name: z.exactOptional(z.string()) }),
  z.strictObject({ kind: z.literal("operator"), name: z.exactOptional(z.string()) }),
]);
export type Actor = z.infer<typeof actorSchema>;

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
      return actor.name === undefined ? actor.kind : `${actor.kind} ${actor.name}`;
  }
}
