/**
 * Loads the code that executes runs, with the first run: a program that only looks at conversations does without it. It is loaded once, so
 * that all runs of a copy of turnlog share its classes.
 */
export const execution = (): ReturnType<typeof load> => (loading ??= load());

let loading: ReturnType<typeof load> | undefined;

async function load() {
  const [{ executeRun }, { timeAfter }, { abandon, cancelAsIs, finish }, { mustBeFree }] = await Promise.all([
    import("./run.ts"),
    import("./open-session.ts"),
    import("./take-up.ts"),
    import("./must-be-free.ts"),
  ]);
  return { executeRun, timeAfter, abandon, cancelAsIs, finish, mustBeFree };
}
