import type { Actor } from "../../domain/actor.ts";
import type { Block, BlockKind } from "../../domain/block.ts";
import { blockFromJson } from "../../domain/block-json.ts";
import type { RecordedEvent } from "../../domain/events/recorded.ts";
import { isAside } from "../../domain/frame.ts";
import { entersTurn } from "../../projections/client-turn/apply-to-turns.ts";
import { byStream, type Projection } from "../../projections/projection.ts";
import { shownText } from "./shown-text.ts";

/** One message as it was originally given: middleware changes the Turn, not the transcript. */
type Utterance = {
  readonly stream: string;
  readonly revision: number;
  readonly at: string;
  readonly actor: Actor;
  readonly blockId: string | null;
  readonly kind: BlockKind;
  /** The tool that a call names, or that returned a result. */
  readonly name: string | null;
  readonly text: string;
};

export type TranscriptView = {
  readonly utterances: Utterance[];
  /** The tools of the calls so far, by the call's block. */
  readonly tools: Map<string, string>;
};

/** The conversation for people: all messages, calls and results, in the order of the log. */
export const transcript: Projection<TranscriptView> = {
  name: "transcript",
  version: 1,
  lineage: "inherit",
  key: byStream,
  initial: () => ({ utterances: [], tools: new Map() }),
  apply(view, recorded) {
    for (const { block, name } of said(view, recorded)) {
      if (block.kind === "tool_call" && block.id !== null && name !== null) view.tools.set(block.id, name);
      const { stream, revision, at, actor } = recorded;
      view.utterances.push({
        stream,
        revision,
        at,
        actor,
        blockId: block.id,
        kind: block.kind,
        name,
        text: shownText(block),
      });
    }
    return view;
  },
};

function said(
  { tools }: TranscriptView,
  { event, frame }: RecordedEvent,
): readonly { readonly block: Block; readonly name: string | null }[] {
  switch (event.type) {
    case "BlockAppended": {
      const block = blockFromJson(event.data.block);
      return [{ block, name: block.name }];
    }
    case "ResponseReceived":
      if (isAside(frame)) return [];
      return event.data.output
        .map(blockFromJson)
        .filter(entersTurn)
        .map((block) => ({ block, name: block.kind === "tool_call" ? (block.name ?? block.type) : null }));
    case "ToolFinished":
      return [{ block: blockFromJson(event.data.result), name: tools.get(event.data.blockId) ?? null }];
    default:
      return [];
  }
}
