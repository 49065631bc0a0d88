import { isJsonList, isJsonObject, type JsonObject, type JsonValue, omitMembers } from "../../base/json.ts";
import type { Anchor } from "../../domain/anchor.ts";
import type { AnchorKind } from "../../engine/ports/anchor-kind.ts";
import type { Lesson } from "../../engine/ports/capabilities.ts";
import type { Refusal, Settings } from "../../engine/ports/codec.ts";

/** The value of `anthropic-beta` that requests for threads need (Anthropic's API reference, message threads). */
export const threadsBeta = "message-threads-2026-08-12";

/** The settings that the first message of a thread fixes for all that continue it, and those that have to stay equal. */
const ofThread: ReadonlySet<string> = new Set(["instructions", "tools", "model", "output_config"]);

const keptMs = 5 * 60 * 1000;

export const anchors: Readonly<Record<string, AnchorKind>> = {
  thread: {
    ...{ isLinear: true, keptMs: () => keptMs, mustEqual: (name) => ofThread.has(name) },
    // A thread accepts each call id once, and a request that continues does not know which ones it has. Thinking belongs to the thread.
    takes: ({ kind }) => kind !== "tool_call" && kind !== "reasoning",
  },
};

/** Whether settings have the server keep threads. */
export const asksForThreads = ({ threads }: Settings): boolean => threads === true;

/**
 * The setting, and the capability, of breakpoints on threads. Whether the server takes them is not established: Anthropic's guide, as others
 * quote it, asks for them on each request, and its SDK lists them among what threads do not support (@anthropic-ai/sdk 1.12.0).
 */
export const marksOnThreads = "cacheOnThreads";

/** The lesson of a rejection of breakpoints on a thread. */
export function threadMarksLesson({ kind, message }: Refusal, settings: Settings): Lesson | null {
  const isAbout = kind === "invalid-request" && /cache_control/.test(message);
  return isAbout && asksForThreads(settings) && settings[marksOnThreads] === true
    ? { capability: marksOnThreads, reason: message }
    : null;
}

/** Settings without threads. */
export const unstored = (settings: Settings): Settings =>
  Object.hasOwn(settings, "threads") ? omitMembers(settings, new Set(["threads"])) : settings;

/** The `thread` member of a request; null if it has none. */
export function threadFor(settings: Settings, anchor: Anchor | null): JsonObject | null {
  if (anchor !== null) return { type: "continue", previous_message_id: anchor.id };
  return asksForThreads(settings) ? { type: "create" } : null;
}

/** The settings that threads do not allow, by path. */
export const threadless = (settings: Settings): readonly string[] => [
  ...["thinking", "context_management", "fallbacks"].filter((name) => settings[name] !== undefined),
  ...marksIn(settings),
];

/** The paths of cache breakpoints in settings. */
export function marksIn(value: JsonValue, path = ""): readonly string[] {
  if (isJsonList(value)) return value.flatMap((each, place) => marksIn(each, `${path}[${place}]`));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const here = path === "" ? name : `${path}.${name}`;
    if (name === "cache_control") return [here];
    return path === "" && !["instructions", "tools"].includes(name) ? [] : marksIn(each ?? null, here);
  });
}
