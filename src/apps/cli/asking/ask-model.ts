import type * as z from "zod";
import { messageOf } from "../../../base/error-message.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import type { Engine } from "../../../engine/options/engine.ts";
import type { RunResult } from "../../../engine/options/result.ts";
import { RunCancelledError, RunFailedError } from "../../../engine/session/errors.ts";
import type { runDocument } from "../../documents/asking.ts";
import type { CliContext } from "../context.ts";
import { createRunScreen } from "./show-run.ts";

export type RunDocument = z.infer<typeof runDocument>;

type AskOptions = {
  readonly signal: AbortSignal;
  readonly model?: string | undefined;
  readonly key?: string | undefined;
};

/**
 * Has the engine answer what is unanswered, and shows the answer as it comes. A run that failed or was cancelled is an answer too, for the
 * caller's exit code.
 *
 * @throws what other errors `conversation.stream` throws: the run did not begin, or belongs to another process.
 */
export async function askModel(
  context: CliContext,
  { conversation, engine }: { readonly conversation: Conversation; readonly engine: Engine },
  { signal, model, key }: AskOptions,
): Promise<RunDocument> {
  const screen = context.isJson ? null : createRunScreen(context);
  const asked = { signal, ...(model === undefined ? {} : { model }), ...(key === undefined ? {} : { key }) };
  let result: RunResult | null = null;
  try {
    for await (const part of conversation.stream(engine, asked)) {
      if (part.type === "run-end") result = part.result;
      screen?.show(part);
    }
  } catch (error) {
    screen?.end(null);
    if (error instanceof RunFailedError || error instanceof RunCancelledError)
      return {
        ...{ conversation: conversation.id, runId: error.runId, isNew: true, text: "", waitingFor: [] },
        status: error instanceof RunFailedError ? "failed" : "cancelled",
        error: { code: error.code, message: messageOf(error) },
      };
    throw error;
  }
  if (result === null) throw new Error("the stream of a run ended without its end");
  screen?.end(result);
  const { runId, status, isNew, text, waitingFor } = result;
  return {
    ...{ conversation: conversation.id, runId, status, isNew, text, error: null },
    waitingFor: waitingFor.map((waiting) => ({ ...waiting })),
  };
}
