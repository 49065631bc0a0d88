import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import { cutEdits, diffTurns } from "../../domain/diff-turns.ts";
import { applyEdits } from "../../domain/edits.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { type ConversationWriter, streamContended } from "./conversation-writer.ts";
import { RunInProgressError } from "./owner.ts";

/** The Turn has no such exchange. */
export function exchangeNotFound(n: number, count: number): TurnlogError {
  const range = count === 0 ? "no user has said anything" : `it has the exchanges 0 to ${count - 1}`;
  return new TurnlogError("exchange-not-found", `there is no exchange ${n} in the Turn: ${range}`);
}

type Revert = {
  /** The Turn that it is to be again, given what it is now. */
  readonly target: (committed: Turn) => Turn;
  readonly toRevision: number | null;
  readonly actor: Actor;
};

/** How often a revert begins anew because someone appended meanwhile. */
const maxBeginnings = 50;

/**
 * Makes the Turn what it was, in one append; what came since stays in the log. Nothing is written when it is that already.
 *
 * @throws {RunInProgressError} while a run is open.
 */
export async function revertTurn(stream: ConversationWriter, { target, toRevision, actor }: Revert): Promise<Turn> {
  for (let beginning = 1; beginning <= maxBeginnings; beginning += 1) {
    await stream.refresh();
    await stream.readContents();
    const { client } = stream.view;
    if (client.run !== null) throw new RunInProgressError(client.run.id, client.run.owner);
    const { committed } = client;
    const entries = entriesOf(committed, target(committed), toRevision, actor);
    try {
      const result = await stream.commit(entries, (view) => {
        if (view.client.committed !== committed) throw new TurnMovedError();
      });
      if (result.status === "committed") return stream.view.client.committed.frozen();
    } catch (error) {
      if (!(error instanceof TurnMovedError)) throw error;
    }
  }
  throw streamContended(stream.name);
}

/** One event, or several where one event could not say it: each against what the one before made. */
function entriesOf(from: Turn, to: Turn, toRevision: number | null, actor: Actor): readonly ProposedEvent[] {
  let turn = from;
  return cutEdits(diffTurns(from, to, () => false)).map((edits) => {
    turn = applyEdits(turn, edits, () => undefined);
    return {
      event: { type: "TurnReverted", version: 1, data: { toRevision, edits: [...edits], after: turn.digest } },
      actor,
    };
  });
}

/** Someone appended before the revert was written: it is made against another Turn. */
class TurnMovedError extends Error {
  override readonly name = "TurnMovedError";
}
