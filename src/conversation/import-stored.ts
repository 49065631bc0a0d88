import { counted } from "../base/counted.ts";
import { anything, checkText, optionsOf } from "../base/options.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { Actor } from "../domain/actor.ts";
import { Block, type BlockKind } from "../domain/block.ts";
import type { BlockNames } from "../domain/block-names.ts";
import { emptyContext, extendContext } from "../domain/context.ts";
import { blockAppending } from "../domain/events/blocks-in.ts";
import type { ConversationEvent } from "../domain/events/event.ts";
import type { ProposedEvent } from "../domain/events/recorded.ts";
import { type BlockId, inferenceIdSchema, namedBlockId, namedIdText } from "../domain/ids.ts";
import { requestSettings, settingsName } from "../engine/planning/request-settings.ts";
import { blocksOf } from "../engine/planning/response.ts";
import type { Draft } from "../engine/ports/codec.ts";
import type { Provider } from "../engine/ports/provider.ts";
import type { StoredChain } from "../engine/ports/stored-responses.ts";
import { commit } from "./commit.ts";
import type { Conversation } from "./conversation.ts";

export type ImportStoredOptions = {
  /** The id of the conversation; by default derived from the endpoint and the content, so that importing twice gives one conversation. */
  readonly id?: string;
  readonly signal?: AbortSignal;
};

/** A part that a server could not give back, by name, and in words for people. */
type LostPart = { readonly what: string; readonly message: string };

/** A conversation imported from what a server stores. */
export type ImportedConversation = {
  readonly conversation: Conversation;
  /** The responses that it was made of, oldest first; empty for a conversation object, which does not list them. */
  readonly responses: readonly string[];
  readonly blocks: number;
  /**
   * Whether the next request can continue from the response: the server holds exactly what the conversation has. Requests never continue
   * in a conversation object: others may add to it or remove from it without notice.
   */
  readonly isWhole: boolean;
  readonly lost: readonly LostPart[];
  /** False if it was imported before, so that nothing was written; an import that was cut off is finished. */
  readonly isNew: boolean;
};

const importOptions = optionsOf<ImportStoredOptions>({ id: anything, signal: anything });
const actor: Actor = { kind: "import" };

type Importing = ImportStoredOptions & { readonly conversation: (id: string) => Conversation };

/** Imports a response that a server stores, and those before it. */
export const importResponse = (provider: Provider, responseId: string, options: Importing) =>
  importStored(provider, responseId, { ...options, from: fromResponse });

/** Imports a conversation object. */
export const importConversation = (provider: Provider, objectId: string, options: Importing) =>
  importStored(provider, objectId, { ...options, from: fromObject });

/** What to import, and how to read it. */
type StoredSource = {
  readonly call: string;
  readonly argument: string;
  readonly shown: string;
  readonly stored: string;
  readonly isObject: boolean;
  readonly read: (provider: Provider) => Provider["storedChain"];
};

const fromResponse: StoredSource = {
  ...{ call: "importResponse", argument: "responseId", shown: "a response, such as resp_… at OpenAI" },
  ...{ stored: "stored responses", isObject: false },
  read: (provider) => provider.storedChain?.bind(provider),
};

const fromObject: StoredSource = {
  ...{ call: "importConversation", argument: "objectId", shown: "a conversation object, such as conv_… at OpenAI" },
  ...{ stored: "conversation objects", isObject: true },
  read: (provider) => provider.storedConversation?.bind(provider),
};

async function importStored(
  provider: Provider,
  sourceId: string,
  { conversation, from, ...options }: Importing & { readonly from: StoredSource },
): Promise<ImportedConversation> {
  const { call, argument, shown, stored, isObject } = from;
  importOptions.check(call, options);
  checkText(`${call}: ${argument}`, sourceId, `the id of ${shown}`);
  const read = from.read(provider);
  if (read === undefined)
    throw new TypeError(
      `${call}: the provider ${provider.name} cannot read ${stored}: give one that can, such as openaiResponses`,
    );
  const { id: wanted, signal } = options;
  const name = `turnlog/import-${isObject ? "conversation" : "response"}/v1\n${provider.scope}\n${sourceId}`;
  const imported = conversation(wanted ?? `cnv_${namedIdText(name)}`);
  const isThere = (await imported.head()) !== null;
  if (isThere && wanted !== undefined)
    throw new TurnlogError("conversation-exists", `${imported.id} already exists: choose another id, or leave it out`);
  const chain = await read(sourceId, { signal });
  const names = await imported.names();
  const target = { conversationId: imported.id, object: isObject ? sourceId : null };
  const contents = contentsOf(chain, provider, { ...target, names });
  // An object may have grown since. The conversation is what it held then.
  const found = isObject ? "done" : await progressOf(imported, contents);
  const progress = isThere ? found : "begun";
  if (progress === "begun") {
    const origin = { type: "import", source: sourceId } as const;
    const start: ProposedEvent["event"] = { type: "ConversationStarted", version: 1, data: { origin } };
    await imported[commit]([start, ...contents.events].map((event): ProposedEvent => ({ event, actor })));
  }
  const isCut = progress === "gone-on";
  const responses = chain.responses.flatMap(({ id }) => id ?? []);
  return {
    ...{ conversation: imported, responses, blocks: contents.blocks, isNew: progress === "begun" },
    isWhole: contents.isWhole && !isCut,
    lost: isCut ? [cutOff, ...contents.lost] : contents.lost,
  };
}

const cutOff: LostPart = {
  what: "rest",
  message:
    "an earlier import was interrupted, and the conversation has continued since: import again under another id to get all of it",
};

/**
 * How far an earlier import came. If it is too big for one append there are several, so one that was cut off left the first events. They
 * are begun again, as long as no one else has written behind them.
 */
async function progressOf(conversation: Conversation, { events }: Contents): Promise<"begun" | "done" | "gone-on"> {
  const wanted = [...new Set(events.map(nameOf))];
  let next = 0;
  for await (const { event, actor: by } of conversation.events()) {
    if (event.type === "ConversationStarted") continue;
    if (next === wanted.length) return "done";
    if (event.type === "skipped" || nameOf(event) !== wanted[next]) return by?.kind === "import" ? "done" : "gone-on";
    next += 1;
  }
  return next === wanted.length ? "done" : "begun";
}

/** Identifies an imported event: the server may give back less than it did. */
function nameOf(event: ConversationEvent): string {
  if (event.type === "BlockAppended") return `${event.type} ${event.data.block.id} ${event.data.block.digest}`;
  if (event.type === "SettingsDeclared") return `${event.type} ${event.data.digest}`;
  return event.type === "ContextImported" ? `${event.type} ${event.data.inferenceId}` : event.type;
}

type Contents = Pick<ImportedConversation, "blocks" | "isWhole" | "lost"> & {
  readonly events: readonly ProposedEvent["event"][];
};

/** Where a chain goes; `object` is the conversation object that it was read from, if any. */
type ImportTarget = {
  readonly conversationId: string;
  readonly object: string | null;
  /** Of the conversation. */
  readonly names: BlockNames;
};

function contentsOf(chain: StoredChain, provider: Provider, { conversationId, object, names }: ImportTarget): Contents {
  const { scope, codec, capabilities } = provider;
  const appended: ProposedEvent["event"][] = [];
  const contexts: ProposedEvent["event"][] = [];
  let turn = emptyContext;
  let blocks = 0;
  let unreadable = 0;
  let isComplete = object === null;
  const newBlockId = (): BlockId => namedBlockId(`${conversationId}\nblock\n${blocks}`);
  const append = (made: Block): void => {
    const block = Block.named(made, names);
    appended.push(blockAppending(block));
    turn = extendContext(turn, block.recordedAs);
    blocks += 1;
    if (block.kind === "reasoning" && block.wire?.ciphertext === undefined) unreadable += 1;
  };
  for (const [index, { id, input, response, settings }] of chain.responses.entries()) {
    const inferenceId = inferenceIdSchema.parse(`inf_${namedIdText(`${conversationId}\ninference\n${index}`)}`);
    const declared = {
      ...requestSettings({ provider, tools: [], settings: provider.settings }, capabilities, []),
      ...settings,
    };
    const asked = { inferenceId, settings: declared, capabilities };
    for (const draft of codec.readAnswer(input, asked).blocks) append(inputBlock(draft, scope, newBlockId()));
    const answer = codec.readAnswer(response, asked);
    const isMasked = chain.isMasked === true;
    const inputLength = blocks;
    for (const draft of answer.blocks) {
      const [block] = blocksOf({ ...answer, blocks: [draft] }, { scope, inferenceId, isMasked, newBlockId, names });
      const { length: size } = answer.blocks;
      if (block !== undefined) append(placed(block, { index: blocks - inputLength, size }));
    }
    const { unusable, ...anchor } = answer.anchor ?? { unusable: "no-id" };
    isComplete = chain.before === null && !isMasked && answer.isComplete && unusable === undefined;
    if (!isComplete || id === null || !("kind" in anchor)) continue;
    const digest = settingsName(declared, names);
    const { inputTokens = 0, outputTokens = 0 } = answer.usage ?? {};
    contexts.push(
      { type: "SettingsDeclared", version: 2, data: { digest, settings: declared } },
      {
        type: "ContextImported",
        version: 1,
        data: {
          ...{ scope, inferenceId, responseId: id, anchor, settingsDigest: digest, turn, inputLength, length: blocks },
          ...(answer.usage === undefined ? {} : { tokens: inputTokens + outputTokens }),
        },
      },
    );
  }
  const lost = lostParts(chain, { unreadable, isComplete, object });
  return { events: [...appended, ...contexts], blocks, isWhole: isComplete, lost };
}

/** The client's input, imported as its own, without the server's ids, except content that only the server can read. */
function inputBlock({ kind, payload, wire }: Draft, scope: string, id: BlockId): Block {
  return new Block({ id, kind, payload, ...(ownKinds.has(kind) ? {} : { wire: { ...wire, scope } }) });
}

const ownKinds: ReadonlySet<BlockKind> = new Set(["system", "user", "assistant", "tool_call", "tool_result"]);

function placed(block: Block, { index, size }: { readonly index: number; readonly size: number }): Block {
  const { id, kind, payload, wire } = block;
  if (wire?.group === undefined) return block;
  return new Block({ id, kind, payload, wire: { ...wire, group: { ...wire.group, index, size } } });
}

function lostParts(
  { before, isMasked, responses }: StoredChain,
  {
    unreadable,
    isComplete,
    object,
  }: Pick<ImportTarget, "object"> & { readonly unreadable: number; readonly isComplete: boolean },
): readonly LostPart[] {
  const parts: (LostPart | null)[] = [
    before === null ? null : { what: "earlier", message: earlierWords[before.reason](before.id) },
    unreadable === 0
      ? null
      : {
          what: "reasoning",
          message: `${counted(unreadable, "reasoning block")} came without ciphertext: only the server that made them reads them`,
        },
    isMasked === true
      ? {
          what: "secrets",
          message: "values of secrets are masked: the server holds other bytes, so nothing continues from there",
        }
      : null,
    object === null
      ? null
      : {
          what: "object",
          message: `${object} itself: others may add to it or take from it, so nothing is sent to it, and mode conversation makes another`,
        },
    object === null ? null : { what: "responses", message: "the ids of its responses, and which item came in which" },
    isComplete || before !== null || isMasked === true || object !== null
      ? null
      : {
          what: "chain",
          message: `${responses.at(-1)?.id ?? "the response"} cannot be continued from: it is not complete, or not stored`,
        },
    { what: "authors", message: "who wrote what: every block is by import" },
    { what: "edits", message: "what layers changed before it was sent, and what was reverted or forked" },
    { what: "runs", message: "runs, tools with their durations, failed requests, and what each request cost" },
    { what: "ids", message: "the conversation's own ids, keys of messages, times, title and labels" },
    {
      what: "settings",
      message:
        object === null ? "settings that the response does not repeat" : "instructions, tools and all other settings",
    },
  ];
  return parts.filter((part) => part !== null);
}

const earlierWords: Readonly<Record<NonNullable<StoredChain["before"]>["reason"], (id: string) => string>> = {
  "not-found": (id) => `what was said up to ${id}, which the server does not have any more`,
  "too-many": (id) => `what was said up to ${id}: the chain is longer than is read`,
  conversation: (id) => `what else is in the conversation object ${id}, which can be imported by its own id`,
};
