import { canonicalJson } from "../../src/base/canonical-json.ts";
import type { JsonValue } from "../../src/base/json.ts";
import { sha256Hex } from "../../src/base/sha256.ts";
import { type Block, idOf } from "../../src/domain/block.ts";
import type { Turn } from "../../src/domain/turn.ts";
import type { OpenRun } from "../../src/projections/client-turn/open-run.ts";
import type { ConversationView } from "../../src/projections/views/conversation-view.ts";

/**
 * What two folds of one conversation agree by (rule: The log is the truth): sha256 of the canonical JSON of both sides, without positions in
 * the log of the store. Blocks and settings count by their digests, so that a fold without contents has the same one.
 */
export function viewDigest(view: ConversationView): string {
  const { client, server, newest, title, labels } = view;
  return sha256Hex(
    canonicalJson({
      committed: turnOf(client.committed),
      run: client.run === null ? null : runOf(client.run),
      contexts: [...server.contexts.all],
      open: [...server.open.keys()],
      invalidResponses: Object.fromEntries(server.invalidResponses),
      invalidScopes: Object.fromEntries(server.invalidScopes),
      learned: Object.fromEntries([...server.learned].map(([scope, learned]) => [scope, Object.fromEntries(learned)])),
      unanswered: [...server.unanswered.keys()].sort(),
      objects: Object.fromEntries([...server.objects].map(([scope, object]) => [scope, { ...object }])),
      cutObjects: [...server.cutObjects].sort(),
      quarantined: [...server.quarantined].sort(),
      newest: Object.fromEntries(
        [...newest].map(([scope, { context, turn }]) => [scope, { context: context.inferenceId, turn: turn.digest }]),
      ),
      title,
      labels,
    }),
  );
}

const blockOf = (block: Block): JsonValue => [idOf(block), block.kind, block.recordedAs];

const turnOf = (turn: Turn): JsonValue => ({ digest: turn.digest, blocks: turn.blocks.map(blockOf) });

function runOf({ id, startedAt, startedRevision, turns, pending, inferences }: OpenRun): JsonValue {
  return {
    ...{ id, startedAt, startedRevision, base: turns.base.digest },
    pending: pending.map(blockOf),
    ifEndedHere: turnOf(turns.unfinishedTurn()),
    openCalls: turns.openCalls.map(idOf),
    discardedTools: [...turns.discardedTools],
    inferences: [...inferences].map(([inferenceId, { frame, isOpen }]) => ({
      ...{ inferenceId, frame, isOpen },
      given: turns.given(frame).digest,
      result: turns.result(frame)?.digest ?? null,
    })),
  };
}
