import { isJsonObject, objectOf } from "../../base/json.ts";
import {
  anything,
  checkFunction,
  checkWhole,
  choiceOf,
  kindOf,
  optionsOf,
  required,
  textOf,
} from "../../base/options.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { type Actor, actorSchema, isCaller } from "../../domain/actor.ts";
import { checkedEngine, type Engine } from "../../engine/options/engine.ts";
import type { ChatActor } from "./chat-messages.ts";
import type { LiveChannel } from "./live-channel.ts";

/** Who asks, and what is theirs. */
export type ChatAccess<Context = unknown> = {
  /** Who writes and decides. Deciding about a call needs a name: `{ kind: "user", name: "ann" }`. */
  readonly actor: ChatActor;
  /** The labels that a conversation has to have. New conversations get them; others do not exist for this user. */
  readonly labels: Readonly<Record<string, string>>;
  /** The value of `ctx.context` for layers and tools. */
  readonly context?: Context;
};

export type ChatOptions<Context = unknown> = {
  readonly store: TurnlogStore;
  /** What answers: an engine, or a function that chooses one by the request. */
  readonly engine: Engine<Context, unknown> | ((request: Request) => Engine<Context, unknown>);
  /** Asked before every request. Return who asks, or null to refuse. */
  readonly access: (request: Request) => ChatAccess<Context> | null | Promise<ChatAccess<Context> | null>;
  /** Where the routes begin; `/api/chat` by default, as `useChat` has it. */
  readonly basePath?: string;
  /** How large the body of a request may be, in bytes; 10 MiB by default. A page sends its whole history, with images. */
  readonly maxBodyBytes?: number;
  /** Gets the work of a request that goes on when the answer was sent, or its reader has left: for platforms that stop idle processes. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
  /** Carries text that arrives to the pages that other processes serve. */
  readonly live?: LiveChannel;
  /** Gets what the page does not: errors of `access`, of the store and of this program. By default they are warnings of the process. */
  readonly onError?: (error: unknown) => void;
  /** What a message does to calls that wait for approval: `wait` (the default) or `deny`, as in `run`. */
  readonly onMessageWhileWaiting?: "wait" | "deny";
};

const maxBodyBytesDefault = 10 * 1024 * 1024;

const chatOptions = optionsOf<ChatOptions>({
  store: required((what, given) => {
    if (isJsonObject(given) && typeof given["conversation"] === "function") return anything(what, given);
    throw new TypeError(`${what} is ${kindOf(given)}: give what openStore returns`);
  }),
  engine: required((what, given) => {
    if (typeof given !== "function") checkedEngine("createChat", anything(what, given));
    return anything(what, given);
  }),
  access: required((what, given) => checkFunction(what, given)),
  basePath: textOf("where the routes begin, such as /api/chat"),
  maxBodyBytes: checkWhole,
  waitUntil: (what, given) => checkFunction(what, given),
  live: (what, given) => {
    const { publish, subscribe } = objectOf(given);
    if (typeof publish === "function" && typeof subscribe === "function") return anything(what, given);
    throw new TypeError(`${what} is ${kindOf(given)}: give { publish, subscribe }, as docs/WEB.md shows`);
  },
  onError: (what, given) => checkFunction(what, given),
  onMessageWhileWaiting: choiceOf("wait", "deny"),
});

export type CheckedChat = Required<Omit<ChatOptions, "live" | "waitUntil">> & Pick<ChatOptions, "live" | "waitUntil">;

/** @throws {TypeError} if an option is missing, unknown or invalid. */
export function checkedChat(options: ChatOptions): CheckedChat {
  chatOptions.check("createChat", options);
  const {
    basePath = "/api/chat",
    maxBodyBytes = maxBodyBytesDefault,
    onMessageWhileWaiting = "wait",
    onError = warn,
    ...rest
  } = options;
  if (!basePath.startsWith("/"))
    throw new TypeError(`createChat: basePath is '${basePath}': give a path that begins with /, such as /api/chat`);
  return { ...rest, basePath: basePath.replace(/\/+$/, ""), maxBodyBytes, onMessageWhileWaiting, onError };
}

const warn = (error: unknown): void =>
  process.emitWarning(
    `turnlog/web: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    "TurnlogWarning",
  );

/**
 * The engine that answers a request.
 *
 * @throws {TypeError} if the function of the options returned something else, such as undefined for a name that no engine has.
 */
export function chosenEngine(engine: CheckedChat["engine"], request: Request): Engine<unknown, unknown> {
  if (typeof engine !== "function") return engine;
  const chosen = engine(request);
  if (!isJsonObject(chosen))
    throw new TypeError(`createChat: engine returned ${kindOf(chosen)}: return an engine for every request`);
  checkedEngine("createChat", anything("engine", chosen));
  return chosen;
}

const accessMembers = optionsOf<ChatAccess>({ actor: anything, labels: anything, context: anything });

/**
 * Checks what `access` returned; null if it refuses.
 *
 * @throws {TypeError} if it is neither null nor `{ actor, labels }`: an unclear answer allows nothing.
 */
export function checkedAccess(given: unknown): ChatAccess | null {
  if (given === null) return null;
  const { actor, labels, context } = isJsonObject(given) ? given : {};
  const who = actorSchema.safeParse(actor);
  if (!who.success || !isCaller(who.data))
    throw new TypeError(
      'createChat: access returned no actor: return { actor: { kind: "user", name }, labels } or null',
    );
  accessMembers.checkNames("createChat: the result of access", given);
  if (!isJsonObject(labels))
    throw new TypeError(
      "createChat: access returned no labels: return { actor, labels: { user: id } }, or labels: {} for all conversations",
    );
  const own = Object.fromEntries(
    Object.entries(labels).map(([name, label]) => {
      if (typeof label === "string") return [name, label];
      throw new TypeError(`createChat: access returned ${kindOf(label)} as the label '${name}': return a text`);
    }),
  );
  return { actor: who.data, labels: own, ...(context === undefined ? {} : { context }) };
}

/** Who may decide about a call; null without a name. */
export const decider = (actor: Actor): Actor | null =>
  "name" in actor && typeof actor.name === "string" && actor.name !== "" ? actor : null;
