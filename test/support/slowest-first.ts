import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longest, in this order: begun last, one of them would be waited for by itself. */
const slow = [
  "faults/crash.process",
  "package/tarball",
  "faults/recovery",
  "stores/eventstoredb/unkind",
  "providers/every-provider",
  "faults/eventstoredb",
  "rehearsal/rehearse",
  "faults/error-matrix-socket",
  "coherence/coherence",
  "rehearsal/providers",
  "live/other-process.slow",
];

/** A worker serves the files of one project and then ends, so the projects come one after another: `unit`, the longest, last. */
export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = slow.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return found < 0 ? slow.length : found;
    };
    // The base class puts the projects in the order of their names.
    const byProject = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...byProject.values()].flatMap((sorted) => sorted.toSorted((left, right) => place(left) - place(right)));
  }
}
