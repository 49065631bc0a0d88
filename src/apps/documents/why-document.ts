import { shownText } from "../../analysis/descriptions/shown-text.ts";
import type { RequestExplanation } from "../../analysis/explain/explain.ts";
import { explainReasoning } from "../../analysis/explain/reasoning-report.ts";
import type { FoundRequest, RequestPlace } from "../../analysis/time-travel/find-request.ts";
import { excerpt } from "../../base/printable.ts";
import type { Conversation } from "../../conversation/conversation.ts";
import type { TurnlogStore } from "../../conversation/turnlog-store.ts";
import { outgoingTurn } from "../../engine/recorded/recorded-request.ts";
import type { WhyDocument } from "./requests.ts";

/** Why a request was sent the way it was, as `turnlog why` prints it. */
export function whyDocumentOf(
  conversation: Pick<Conversation, "id">,
  { sent, ...explained }: RequestExplanation,
): WhyDocument {
  return {
    ...{ conversation: conversation.id, ...explained },
    sent: sent.map(({ block, ...told }) => ({ ...told, id: block.id, begins: excerpt(shownText(block), 160) })),
  };
}

/**
 * What happened to a request's reasoning, as `turnlog why --reasoning` prints it: adds the text of each block, if it can be read.
 *
 * @param skipped - What the request was found with.
 */
export async function reasoningDocumentOf(
  { log }: Pick<TurnlogStore, "log">,
  found: FoundRequest,
  skipped: RequestPlace["skipped"],
): Promise<WhyDocument["reasoning"] & object> {
  const { recorded, codecs, labels } = found;
  const place = { stream: recorded.stream, revision: recorded.revision, orBefore: false, codecs, skipped };
  const { blocks, told, unknown, size } = await explainReasoning(log, place);
  const turn = outgoingTurn(found.view, recorded);
  return {
    ...{ told, unknown, size },
    blocks: blocks.map((block) => ({
      ...block,
      label: labels.get(block.blockId) ?? "reasoning",
      begins: excerpt(turn.at(block.index)?.text ?? "", 160),
    })),
  };
}
