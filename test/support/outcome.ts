/** How a program, or a command in this process, ended; `code` is null where a signal ended it. */
export type Outcome = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
