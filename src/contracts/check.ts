/** One thing that an adapter has to do: it throws, an AssertionError among others, where the adapter does not. */
export type Check = { readonly name: string; readonly run: () => Promise<void> };

/** Adds a check, which gets a subject of its own. */
export type AddCheck<Subject> = (name: string, run: (subject: Subject) => Promise<void>) => void;

/** The checks that are added, each on a new subject that is closed when it ends. */
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
