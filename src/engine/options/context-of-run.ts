import { messageOf } from "../../base/error-message.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { conversationOfStream } from "../../domain/ids.ts";
import type { ConversationView } from "../../projections/views/conversation-view.ts";
import type { EngineOptions } from "./engine.ts";

/** The run that a context is made for. */
export type ContextOf = (run: {
  readonly conversation: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly runId: string;
}) => unknown;

/** Takes the place of an engine's context, which is then made for each run when it begins or is executed again. */
export class ContextOfRun {
  readonly #make: ContextOf;

  constructor(make: ContextOf) {
    this.#make = make;
  }

  /** @throws {TurnlogError} `context-missing` if the function fails. */
  async of(runId: string, { stream, labels }: ContextPlace): Promise<unknown> {
    try {
      return await this.#make({ conversation: conversationOfStream(stream) ?? stream, labels, runId });
    } catch (cause) {
      throw new TurnlogError("context-missing", `the context of ${runId} cannot be made: ${messageOf(cause)}`, {
        cause,
      });
    }
  }
}

type ContextPlace = { readonly stream: string } & Pick<ConversationView, "labels">;

/**
 * The engine with the context of this run.
 *
 * @throws {TurnlogError} `context-missing` if the context cannot be made.
 */
export async function withContextOf<Engine extends Pick<EngineOptions, "context">>(
  engine: Engine,
  runId: string,
  place: ContextPlace,
): Promise<Engine> {
  const { context } = engine;
  return context instanceof ContextOfRun ? { ...engine, context: await context.of(runId, place) } : engine;
}
