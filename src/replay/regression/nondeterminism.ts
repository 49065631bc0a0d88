import type { Codec } from "../../engine/ports/codec.ts";
import { compareRun } from "./compare-run.ts";
import type { ConversationRegression, CulpritCount } from "./conversation-result.ts";
import { type Culprit, culpritName } from "./culprit.ts";
import type { LabResult } from "./regress.ts";
import type { RunTrace } from "./run-trace.ts";

/**
 * Compares what the changed stack did in a conversation with what it did there again, in a world with another date and other random
 * numbers. A layer that does not do the same twice is not regular, whatever it was compared with: it is an alarm of its own kind.
 */
export function withNondeterminism(
  { result, traces }: LabResult,
  again: readonly RunTrace[],
  codec: Codec,
): ConversationRegression {
  for (const trace of traces) {
    const other = again.find(({ runId }) => runId === trace.runId);
    if (other === undefined) continue;
    const [first, second] = [sideOf(trace), sideOf(other)];
    const { differences, end } = compareRun(first, second, { codec, earlier: null, recorded: first });
    const found = differences[0]?.culprit ?? end;
    if (found !== null) return named(result, found);
  }
  return result;
}

const sideOf = (trace: RunTrace) => ({ trace, unknown: null, message: null, isCut: false, turnAt: () => null });

/** Counts what the layer changes as its nondeterminism. */
function named(result: ConversationRegression, { name, frame, runId }: Culprit): ConversationRegression {
  const nondeterminism: Culprit = {
    ...{ kind: "nondeterminism", name, version: null, frame, runId, block: null, isConfirmed: null },
    how: "did something else when it was executed again",
  };
  const renamed = (culprit: Culprit): Culprit =>
    culprit.name === name ? { ...nondeterminism, block: culprit.block } : culprit;
  const names = new Set(
    result.differences.flatMap(({ culprit, others }) =>
      [culprit, ...others].filter((each) => each.name === name).map(culpritName),
    ),
  );
  if (result.first?.name === name) names.add(culpritName(result.first));
  const counts = new Map<string, number>([[culpritName(nondeterminism), 0]]);
  for (const count of result.culprits) {
    const as = names.has(count.name) ? culpritName(nondeterminism) : count.name;
    counts.set(as, (counts.get(as) ?? 0) + count.requests);
  }
  return {
    ...result,
    first: result.first === null ? nondeterminism : renamed(result.first),
    differences: result.differences.map((difference) => ({
      ...difference,
      ...{ culprit: renamed(difference.culprit), others: difference.others.map(renamed) },
    })),
    culprits: [...counts].map(([as, requests]): CulpritCount => ({ name: as, requests })),
  };
}
