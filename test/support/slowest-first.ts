import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes tens of seconds, the longest first: begun last, one of them would be waited for by itself. */
const slow = [
  "faults/crash.process",
  "package/tarball",
  "faults/recovery",
  "cli/eventstoredb-bad-input",
  "stores/eventstoredb/following",
  "faults/eventstoredb",
  "rehearsal/rehearse",
  "coherence/coherence",
  "rehearsal/providers",
  "live/other-process.process",
];

export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = slow.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return found < 0 ? slow.length : found;
    };
    return (await super.sort(files)).toSorted((left, right) => place(left) - place(right));
  }
}
