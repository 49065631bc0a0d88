import { expect } from "vitest";
import type { ReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/base/json.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";

/** What a request continues from: what the server stores, what a connection remembers, a conversation object, or nothing. */
export type Held = "stored" | "local" | "object" | "nothing";

export const maxRetries = 2;

/**
 * What is sent for a request that is refused once, and for one that is refused each time, by what it continues from: `C` continues from
 * a response, or in the object of the request before; `F` is whole, in a new object where there are any.
 */
type Sent = Readonly<Record<Held, readonly [once: string, always: string]>>;
const once: Sent = { stored: ["C", "C"], local: ["C", "C"], object: ["C", "C"], nothing: ["F", "F"] };
const whole: Sent = { stored: ["CF", "CF"], local: ["CF", "CF"], object: ["CF", "CF"], nothing: ["F", "F"] };
/** What a connection remembers a refusal takes away: what is stored is still there. */
export const later: Sent = {
  ...{ stored: ["CC", "CCC"], local: ["CF", "CFF"] },
  ...{ object: ["CC", "CCC"], nothing: ["FF", "FFF"] },
};

const reactions: ReadonlyMap<string, Sent> = new Map([
  ["lost-state", whole],
  ["chaining-unsupported", whole],
  ["missing-tool-output", whole],
  ["orphan-tool-output", whole],
  ["reasoning-pairing", whole],
  ["duplicate-item", whole],
  // The whole names items by their ids, where they are stored; without ids it goes to the same new object, which holds nothing yet.
  ["item-not-found", { ...whole, stored: ["CF", "CFF"], object: ["CF", "CFC"] }],
  // What is new holds no reasoning: what the server holds of it is sent whole without.
  ["invalid-encrypted-content", { ...whole, nothing: ["FF", "FF"] }],
  ["rate-limited", later],
  ["conversation-locked", later],
  // An object that is gone is made anew, and so is one that is gone as soon as it was made, once.
  ["conversation-not-found", { ...once, object: ["CF", "CFF"] }],
]);

/** The reaction to a kind of refusal. What the table does not name is told to the caller at once. */
export const reactionTo = (kind: string): Sent => reactions.get(kind) ?? once;

/** The error object of a body. */
export const errorOf = (body: JsonValue): JsonObject =>
  isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {};

type Refused = {
  /** What was said: "one", an answer, and "two", which was refused; "three" is said now. */
  readonly conversation: Conversation;
  readonly say: (text: string) => Promise<void>;
  /** What "two" ended with; null where it was answered in the end. */
  readonly failure: unknown;
};

/** Everything that was said is in the Turn once, a failure is on record, and the conversation goes on with all of it. */
export async function checkNothingLost(server: ReferenceServer, { conversation, say, failure }: Refused) {
  const texts = async (): Promise<readonly string[]> => {
    const turn = await conversation.turn();
    return turn.blocks.filter(({ kind }) => kind !== "reasoning").map(({ text }) => text);
  };
  const answered = failure === null ? ["answer"] : [];
  expect(await texts()).toEqual(["one", "answer", "two", ...answered]);
  await say("three");
  expect((await texts()).slice(0, -1)).toEqual(["one", "answer", "two", ...answered, "three"]);
  const { responseId = "" } = server.requests.at(-1) ?? {};
  const read = JSON.stringify(server.reading(responseId)?.items);
  for (const text of ["one", "two", "three"]) expect(read.split(`"${text}"`)).toHaveLength(2);
}
