import { excerpt } from "../base/printable.ts";
import { TurnlogError } from "../base/turnlog-error.ts";
import type { Block } from "../domain/block.ts";
import { openCalls } from "../domain/calls.ts";
import type { ConversationWriter } from "../log/writer/conversation-writer.ts";
import type { ConversationView } from "../projections/views/conversation-view.ts";

/** Whether a block answers a call by its id. Results that a provider pairs by other names are compared by its codec alone. */
export const isResult = ({ kind, callId }: Block): boolean => kind === "tool_result" && callId !== null;

/**
 * Checks that the results among these blocks answer open calls: calls without a result in the Turn, in the blocks that wait behind it,
 * or in the blocks themselves, however long ago they were made and whatever a request has said of them meanwhile. Returns whether a view
 * has the Turn that they were compared with.
 *
 * @throws {TurnlogError} `no-open-call` for the first result that answers none.
 */
export async function mustAnswerOpenCalls(
  stream: ConversationWriter,
  blocks: readonly Block[],
): Promise<(view: ConversationView) => boolean> {
  const { client } = await stream.refresh();
  const { committed, run } = client;
  const waiting = run?.pending.length ?? 0;
  const said = [...committed.blocks, ...(run?.pending ?? [])].filter(isOfCalls);
  await stream.readContents(said);
  let open = openCalls(said);
  for (const block of blocks) {
    if (isResult(block) && !open.some((call) => isAnsweredBy(call, block)))
      throw noOpenCall(block, {
        open,
        isAnswered: said.some((call) => isAnsweredBy(call, block)),
        isRunning: run !== null,
      });
    open = openCalls([...open, block]);
  }
  return ({ client: now }) => now.committed === committed && (now.run?.pending.length ?? 0) === waiting;
}

const isOfCalls = ({ kind }: Block): boolean => kind === "tool_call" || kind === "tool_result";

/** An incomplete call was never sent back, so no request would carry a result of it. */
const isAnsweredBy = (call: Block, { callId }: Block): boolean =>
  call.kind === "tool_call" && call.callId === callId && call.wire?.partial !== true && call.wire?.incomplete !== true;

type Found = {
  readonly open: readonly Block[];
  readonly isAnswered: boolean;
  readonly isRunning: boolean;
};

const shownCalls = 5;

function noOpenCall({ callId }: Block, { open, isAnswered, isRunning }: Found): TurnlogError<"no-open-call"> {
  const shown = open
    .slice(0, shownCalls)
    .map((call) => `${excerpt(call.name ?? call.type, 40)} (${call.callId ?? ""})`);
  const more = open.length > shownCalls ? ", …" : "";
  const others = shown.length === 0 ? "no call is open" : `open calls are ${shown.join(", ")}${more}`;
  const advice = isRunning
    ? "append a result after the run that made the call has ended, and settle a call that is in doubt"
    : "give the callId of an open call, or append the call first";
  const why = isAnswered
    ? "the Turn already has its result; append a message instead"
    : `the Turn has no such call, and ${others}; ${advice}`;
  return new TurnlogError("no-open-call", `append: a result for the call "${excerpt(callId ?? "", 80)}": ${why}`);
}
