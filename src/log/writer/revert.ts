import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Actor } from "../../domain/actor.ts";
import { Block } from "../../domain/block.ts";
import { cutEdits, diffTurns } from "../../domain/diff-turns.ts";
import { applyEdits, type Edit } from "../../domain/edits.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import type { ProposedEvent } from "../../domain/events/recorded.ts";
import type { Turn } from "../../domain/turn.ts";
import { type ConversationWriter, streamContended } from "./conversation-writer.ts";
import { RunInProgressError } from "./owner.ts";

/** The Turn has no such exchange. */
export function exchangeNotFound(n: number, count: number): TurnlogError {
  const range = count === 0 ? "the Turn has no user message" : `it has the exchanges 0 to ${count - 1}`;
  return new TurnlogError("exchange-not-found", `there is no exchange ${n} in the Turn: ${range}`);
}

/** A change of the Turn between two runs. */
export type TurnChange = {
  /** Returns the new Turn for the current one. */
  readonly target: (committed: Turn) => Turn;
  /** Creates one of its events: the first, or a continuation. */
  readonly event: (data: TurnChanged["data"], isFirst: boolean) => TurnChanged["event"];
  readonly actor: Actor;
};

type TurnChanged = {
  readonly data: { readonly edits: Edit[]; readonly after: string };
  readonly event: ConversationEventOf<"TurnReverted" | "TurnCompacted">;
};

/** How often a change starts over because another writer appended meanwhile. */
const maxBeginnings = 50;

/**
 * Changes the Turn, in one append; the old one stays in the log. Writes nothing if the Turn already is the target.
 *
 * @throws {RunInProgressError} while a run is open.
 */
export async function changeTurn(stream: ConversationWriter, { target, event, actor }: TurnChange): Promise<Turn> {
  for (let beginning = 1; beginning <= maxBeginnings; beginning += 1) {
    await stream.refresh();
    await stream.learnFromAncestors();
    await stream.readContents();
    const { client } = stream.view;
    if (client.run !== null) throw new RunInProgressError(client.run.id, client.run.owner);
    const { committed } = client;
    const names = await stream.names();
    const to = target(committed).map((block) => Block.named(block, names));
    const entries = entriesOf(committed, to, { event, actor });
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

/** One event, or several if one would be too large: each builds on the result of the one before. */
function entriesOf(
  from: Turn,
  to: Turn,
  { event, actor }: Pick<TurnChange, "event" | "actor">,
): readonly ProposedEvent[] {
  let turn = from;
  return cutEdits(diffTurns(from, to, () => false)).map((edits, part) => {
    turn = applyEdits(turn, edits, () => undefined);
    return { event: event({ edits: [...edits], after: turn.digest }, part === 0), actor };
  });
}

/** Another writer appended before the change was written, so it was computed from another Turn. */
class TurnMovedError extends Error {
  override readonly name = "TurnMovedError";
}

/** Restores the Turn of a revision of this conversation or, with null, of the end of an exchange. */
export const reverted =
  (toRevision: number | null): TurnChange["event"] =>
  (data) => ({ type: "TurnReverted", version: 1, data: { toRevision, ...data } });
