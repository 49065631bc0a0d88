import { messageOf } from "../../base/error-message.ts";
import { ConversationMovedError, RunCancelledError, RunFailedError } from "../session/errors.ts";
import { isRefusal } from "../session/recorder.ts";
import type { RunSession } from "../session/session.ts";
import type { RunFailedPart } from "../stack/run-part.ts";

/** How a run ended with an error in this process; null if nothing had begun and it begins again. */
export function failedPart({ run: { recorder } }: RunSession, thrown: unknown): RunFailedPart | null {
  if (thrown instanceof ConversationMovedError) return null;
  const hasEnded = recorder.failure === null || isRefusal(recorder.failure);
  const told = { type: "run-failed", message: messageOf(thrown) } as const;
  if (hasEnded && thrown instanceof RunFailedError) {
    const { kind, layer, frame } = thrown;
    return { ...told, outcome: "failed", kind, thrownBy: layer === null || frame === null ? null : { layer, frame } };
  }
  const outcome = !hasEnded ? "left-open" : thrown instanceof RunCancelledError ? "cancelled" : "failed";
  return { ...told, outcome, kind: codeOf(thrown), thrownBy: null };
}

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "unknown";
