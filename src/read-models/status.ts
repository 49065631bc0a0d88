import { publishedBuild, type Work } from "./build.ts";
import type { EventSource } from "./pump.ts";

/** How a projection stands, for its operator. */
export type ProjectorStatus = {
  readonly name: string;
  /** Of the projection that is at hand. */
  readonly version: number;
  /** What this projector does now; another process may do something else. */
  readonly state: "idle" | "catching-up" | "live";
  /** Of the rows that are read; null when there are none yet. */
  readonly builtVersion: number | null;
  /** How many events these rows are made of. */
  readonly events: number;
  /** Events that they lack, counted up to `maxBehind`. */
  readonly behind: number;
  /** Keys that lack something, and how many events they lack together. */
  readonly degraded: number;
  readonly quarantined: number;
};

/** More events behind than these are not counted. */
export const maxBehind = 10_000;

/** What the store tells of a projection. */
export async function readStatus(work: Work, source: EventSource): Promise<Omit<ProjectorStatus, "state">> {
  const { name, views, projection } = work;
  const build = await publishedBuild(work);
  const degraded = build === null ? [] : await views.degraded(build);
  let behind = 0;
  for await (const _ of source.read(build?.checkpoint ?? null)) {
    behind += 1;
    if (behind === maxBehind) break;
  }
  return {
    ...{ name, version: projection.version, builtVersion: build?.version ?? null, events: build?.events ?? 0, behind },
    degraded: degraded.length,
    quarantined: degraded.reduce((sum, { quarantine }) => sum + (quarantine?.events ?? 0), 0),
  };
}
