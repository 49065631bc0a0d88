import type { Operation } from "./faults.ts";

export interface User {
  readonly name: string;
  readonly password: string;
  /** Administrators may read `$all` and the streams whose names begin with `$`; by default, others may not. */
  readonly isAdmin: boolean;
  /** Default true. */
  readonly mayWrite: boolean;
}

/** The default access lists of a secure server: nothing for the anonymous, system streams for administrators only. */
export function mayAccess(user: User | null, operation: Operation, stream: string): boolean {
  if (user === null) return false;
  const isWrite = operation === "append" || operation === "delete";
  if (isWrite && !user.mayWrite) return false;
  const isSystem = stream.startsWith("$$") ? stream.slice(2).startsWith("$") : stream.startsWith("$");
  return user.isAdmin || !isSystem;
}
