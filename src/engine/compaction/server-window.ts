import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { anything, kindOf, optionsOf, required, textOf } from "../../base/options.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { Block } from "../../domain/block.ts";
import type { RecordedWindow } from "../../domain/events/conversation-events.ts";
import type { BlockId } from "../../domain/ids.ts";
import type { Turn } from "../../domain/turn.ts";
import type { ConversationWriter } from "../../log/writer/conversation-writer.ts";
import { changeTurn } from "../../log/writer/revert.ts";
import { splitTurn } from "../planning/instruction-blocks.ts";
import { recordedUsage } from "../planning/recorded-usage.ts";
import type { Provider } from "../ports/provider.ts";
import { compacted } from "./record-compaction.ts";

/** A server's compaction of a response and everything before it. */
export type ServerWindow = {
  /** The provider whose server made it. */
  readonly provider: Provider;
  /** The answer as it came: its items are the input of a new chain. */
  readonly window: JsonObject;
  /** The id of the response that the server was asked to compact. */
  readonly of: string;
  /** The model that compacted, if it is not the provider's: the cost counts for it. */
  readonly model?: string | undefined;
};

const windowMembers = optionsOf<ServerWindow>({
  ...{ provider: anything, window: anything },
  of: required(textOf("the id of the response that was compacted")),
  model: anything,
});

export const isWindow = (given: object): given is ServerWindow => "window" in given;

/**
 * Replaces the compacted part of the Turn with a server's window. A block that the window repeats keeps its identity.
 *
 * @throws {TurnlogError} `window-outdated` if the Turn does not begin with what the window was made from.
 */
export function takeWindow(
  stream: ConversationWriter,
  { newId, ...given }: ServerWindow & { readonly newId: () => BlockId },
): Promise<Turn> {
  windowMembers.check("compact", given);
  const { provider, window, of } = given;
  const told: unknown = window;
  if (!isJsonObject(told))
    throw new TypeError(`compact: window is ${kindOf(told)}: give the result of provider.compact`);
  const { drafts, recorded } = readWindow(given);
  if (drafts.length === 0) throw new TypeError("compact: window has no items: give the result of provider.compact");
  const target = (turn: Turn): Turn => {
    const end = endOf(stream, turn, { provider, of });
    const before = turn.blocks.slice(0, end);
    const isSystem = ({ kind }: Block): boolean => kind === "system";
    const said = turn.blocks.slice(0, splitTurn(stream.view, turn, provider).count).filter(isSystem);
    const known = before.filter((block) => !said.includes(block));
    const blocks = drafts.map((draft) => {
      const same = known.findIndex((block) => Block.areEqual(block, draft));
      return known.splice(same < 0 ? known.length : same, 1)[0] ?? draft.withId(newId());
    });
    return turn.with([...said, ...blocks, ...turn.blocks.slice(end)]);
  };
  const event = compacted({ how: "server", because: "asked" }, recorded);
  return changeTurn(stream, { target, event, actor: { kind: "engine" } });
}

/** The window's items, and everything else that is recorded of it. */
function readWindow({ provider, window, of, model }: ServerWindow): {
  readonly drafts: readonly Block[];
  readonly recorded: RecordedWindow;
} {
  const { codec, scope, settings, capabilities } = provider;
  const { id, blocks, usage, rest } = codec.readAnswer(window, { inferenceId: "window", settings, capabilities });
  const asked = [model, window["model"], settings["model"]].find((name) => typeof name === "string");
  const cost = usage === undefined ? {} : { usage: recordedUsage(usage, codec, window) };
  return {
    // The items are sent without their ids: they belong to no answer, so they have no group.
    drafts: blocks.map(({ kind, payload, wire }) => new Block({ id: null, kind, payload, wire: { ...wire, scope } })),
    recorded: { scope, of, id, ...(asked === undefined ? {} : { model: asked }), ...cost, rest },
  };
}

/** The number of the Turn's blocks that the window was made from. */
function endOf(
  stream: ConversationWriter,
  turn: Turn,
  { provider, of }: Pick<ServerWindow, "provider" | "of">,
): number {
  const { view } = stream;
  const { scope } = provider;
  const made = view.server.contexts.byAnchor({ scope, anchor: { kind: "response", id: of } });
  const { input, count } = splitTurn(view, turn, provider);
  if (made !== null && made.length <= input.length && input.contextAt(made.length) === made.turn)
    return count + made.length;
  const why = made === null ? "the conversation has no such response from this endpoint" : "the Turn has changed since";
  throw new TurnlogError(
    "window-outdated",
    `the window of ${of} cannot replace what it was made from: ${why}; compact the newest response`,
  );
}
