import { TurnlogError } from "../../base/turnlog-error.ts";
import type { Projection } from "../../projections/projection.ts";
import { type EventStore, envelopeAt } from "../ports/event-store.ts";
import { StoreUnavailableError } from "../ports/store-errors.ts";
import type { Checkpoint, ViewBuild, ViewRow, ViewStore } from "../ports/view-store.ts";

/** What a projector works with. */
export type Work = {
  readonly store: EventStore;
  readonly views: ViewStore;
  readonly projection: Pick<Projection<unknown>, "version">;
  /** The name of its builds. */
  readonly name: string;
};

/**
 * The build to continue: the published one, or else one already begun; a new one if the version was raised, or if the build
 * was made from another log.
 *
 * @throws {TurnlogError} `projection-outdated` if the published build has a newer version.
 */
export async function findBuild(work: Work): Promise<ViewBuild> {
  const { store, views, projection, name } = work;
  const builds = await views.builds(name);
  checkVersion(builds, work);
  for (const build of builds)
    if (build.version === projection.version && (await isOfThisLog(store, build.checkpoint))) return build;
  return views.begin(name, projection.version);
}

/** @throws {TurnlogError} `projection-outdated` as `findBuild` does. */
export function checkVersion([newest]: readonly ViewBuild[], { projection, name }: Work): void {
  if (newest?.isPublished !== true || newest.version <= projection.version) return;
  const versions = `version ${newest.version}, this one is ${projection.version}`;
  throw new TurnlogError(
    "projection-outdated",
    `a newer turnlog made the rows of ${name} (${versions}): update turnlog`,
  );
}

/**
 * Whether the event of a checkpoint is still in its place. It is not in another store, nor after a backup was restored
 * and written to.
 */
export async function isOfThisLog(store: EventStore, checkpoint: Checkpoint | null): Promise<boolean> {
  if (checkpoint === null) return true;
  const { storeId, stream, revision, eventId, position } = checkpoint;
  if (storeId !== store.storeId) return false;
  const event = await envelopeAt(store, stream, revision);
  return event?.id === eventId && event.position === position;
}

/** The published build; null before the first one has caught up. */
export async function publishedBuild({ views, name }: Pick<Work, "views" | "name">): Promise<ViewBuild | null> {
  const [newest] = await views.builds(name);
  return newest?.isPublished === true ? newest : null;
}

/** The page size for reading rows. */
const maxPageRows = 4_096;

/**
 * The rows of a build in pages, in the order of keys. Finds the build before each page, because another one may be published by then. A row at a
 * time would cost more in promises than to read it.
 */
export async function* readPages(
  { views }: Work,
  find: () => Promise<ViewBuild | null>,
): AsyncIterable<readonly ViewRow[]> {
  let after: string | null = null;
  for (let build = await find(); build !== null; build = await find()) {
    const rows: readonly ViewRow[] = await views.rows(build, { after, limit: maxPageRows });
    yield rows;
    if (rows.length < maxPageRows) return;
    after = rows.at(-1)?.key ?? null;
  }
}

/** How often to begin again with what another process saved; each time the rows have progressed. */
const maxAttempts = 1_000;

/**
 * Repeats an attempt until no other process saves rows during it.
 *
 * @throws {StoreUnavailableError} if every attempt was disturbed.
 */
export async function untilUndisturbed<T>(
  { name }: Work,
  purpose: string,
  attempt: () => Promise<T | "disturbed">,
): Promise<T> {
  for (let count = 0; count < maxAttempts; count += 1) {
    const outcome = await attempt();
    if (outcome !== "disturbed") return outcome;
  }
  throw new StoreUnavailableError(`the rows of ${name} are saved too often to ${purpose}: try again`);
}
