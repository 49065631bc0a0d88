import { isJsonList, isJsonObject, type JsonObject, type JsonValue, omitMembers } from "../../base/json.ts";
import type { Anchor } from "../../domain/anchor.ts";
import type { AnchorKind, Settings } from "../../engine/stack/codec.ts";

/** Goes into `anthropic-beta` where threads are asked for (Anthropic's API reference, message threads). */
export const threadsBeta = "message-threads-2026-08-12";

/** What the first message of a thread says for all that continue it, and what they have to say as it did. */
const ofThread: ReadonlySet<string> = new Set(["instructions", "tools", "model", "output_config"]);

const keptMs = 5 * 60 * 1000;

export const anchors: Readonly<Record<string, AnchorKind>> = {
  thread: {
    ...{ isLinear: true, keptMs: () => keptMs, mustEqual: (name) => ofThread.has(name) },
    // Ids of calls are used once in a thread, and which ones are is not known to what continues it. Thinking is the thread's own.
    takes: ({ kind }) => kind !== "tool_call" && kind !== "reasoning",
  },
};

/** Whether settings have the server keep threads. */
export const asksForThreads = ({ threads }: Settings): boolean => threads === true;

/** Settings that ask for no threads. */
export const unstored = (settings: Settings): Settings =>
  Object.hasOwn(settings, "threads") ? omitMembers(settings, new Set(["threads"])) : settings;

/** What a request says of its thread; null where it has none. */
export function threadFor(settings: Settings, anchor: Anchor | null): JsonObject | null {
  if (anchor !== null) return { type: "continue", previous_message_id: anchor.id };
  return asksForThreads(settings) ? { type: "create" } : null;
}

/** The settings that threads do not go with, by their paths. */
export const threadless = (settings: Settings): readonly string[] => [
  ...["thinking", "context_management", "fallbacks"].filter((name) => settings[name] !== undefined),
  ...marksIn(settings),
];

/** Where marks for the cache stand in settings. */
export function marksIn(value: JsonValue, path = ""): readonly string[] {
  if (isJsonList(value)) return value.flatMap((each, place) => marksIn(each, `${path}[${place}]`));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const here = path === "" ? name : `${path}.${name}`;
    if (name === "cache_control") return [here];
    return path === "" && !["instructions", "tools"].includes(name) ? [] : marksIn(each ?? null, here);
  });
}
