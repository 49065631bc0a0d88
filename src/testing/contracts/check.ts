/** One promise that an adapter must keep: `run` throws, for example an AssertionError, if it does not. */
export type Check = { readonly name: string; readonly run: () => Promise<void> };

/** Adds a check, which gets a subject of its own. */
export type AddCheck<Subject> = (name: string, run: (subject: Subject) => Promise<void>) => void;

/** The added checks, each with a new subject that is closed at its end. */
export function checksOf<Subject extends { close(): Promise<void> }>(
  create: () => Subject | Promise<Subject>,
  addAll: (check: AddCheck<Subject>) => void,
): readonly Check[] {
  const checks: Check[] = [];
  addAll((name, run) => {
    checks.push({
      name,
      async run() {
        const subject = await create();
        try {
          await run(subject);
        } finally {
          await subject.close();
        }
      },
    });
  });
  return checks;
}
