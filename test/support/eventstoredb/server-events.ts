import { randomUUID } from "node:crypto";

/** An event as a writer proposes it. */
export interface ProposedEvent {
  /** A UUID in canonical form: lower case, with hyphens. */
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event that the server makes itself. */
export const described = (type: string, value: unknown): ProposedEvent => ({
  id: randomUUID(),
  type,
  isJson: true,
  data: Buffer.from(JSON.stringify(value)),
  metadata: new Uint8Array(),
});

/** What a fresh server has written before its first user: `$all` never begins with one's own event. */
export const bootEvents: readonly (readonly [string, ProposedEvent])[] = [
  ["$$$stats-127.0.0.1:2113", described("$metadata", { $maxAge: 86_400 })],
  ["$user-admin", described("$UserCreated", { loginName: "admin" })],
  ["$users", described("$User", "admin")],
];
