import { publishedBuild, type Work } from "./build.ts";
import type { EventSource } from "./pump.ts";

/** The state of a projection, for its operator. */
export type ProjectorStatus = {
  readonly name: string;
  /** The version of the loaded projection. */
  readonly version: number;
  /** What this projector is doing; another process may be doing something else. */
  readonly state: "idle" | "catching-up" | "live";
  /** The version of the published rows; null if there are none yet. */
  readonly builtVersion: number | null;
  /** How many events these rows include. */
  readonly events: number;
  /** How many events they are behind, counted up to `maxBehind`. */
  readonly behind: number;
  /** Keys that lack events, and how many they lack together. */
  readonly degraded: number;
  readonly quarantined: number;
};

/** Events behind are counted up to this number. */
export const maxBehind = 10_000;

/** The state of a projection, from the store. */
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
