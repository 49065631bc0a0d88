import { textOrEmpty } from "../../base/json.ts";
import { TurnlogError } from "../../base/turnlog-error.ts";
import { requestOf } from "../../engine/recorded/recorded-request.ts";
import type { EventLog } from "../../log/codec/event-log.ts";
import { recordedAt } from "../../log/history/read-events.ts";
import type { CatchUpOptions, RowProjector } from "../../log/read-models/row-projector.ts";
import { settingsValue } from "../../projections/declared-settings.ts";
import { withRows } from "../lists/rows.ts";
import type { CachedRequest } from "./prompt-cache/cache-verdict.ts";
import type { RequestCache } from "./request-cache.ts";
import { answerCounts } from "./rows/answer-counts.ts";
import type { BillView } from "./rows/bill.ts";
import { declaredAfter } from "./rows/billed-settings.ts";
import { joinUses } from "./rows/prefix-uses.ts";
import { caching } from "./rows/rows.ts";
import { settingsPrefix } from "./rows/settings-prefix.ts";
import type { SentPrompt } from "./sent-prompt.ts";

/** The last use of a request's settings prefix by another conversation: its place, and the prefix as the walk takes it. */
export type OtherPrefix = {
  readonly place: NonNullable<RequestCache["against"]>;
  readonly prefix: CachedRequest;
};

/**
 * Looks in the rows of the other conversations. Null if none of them used the prefix before, or the caller may not read them.
 *
 * @param bare - The request with nothing after its settings.
 */
export async function otherPrefix(
  log: EventLog,
  { recorded, request, settings }: SentPrompt,
  {
    own,
    bare,
    progress,
  }: { readonly own: CachedRequest; readonly bare: CachedRequest; readonly progress: CatchUpOptions },
): Promise<OtherPrefix | null> {
  const { encoder, scope, settingsDigest: digest, decision } = request;
  const declared = { digest, settings };
  const how = { members: answerCounts.members, isErased: false, isOutlined: true };
  const outlined = settingsValue(declaredAfter([], declared, how), digest) ?? {};
  const model = textOrEmpty(settings["model"]);
  const { at, stream } = recorded;
  const key = settingsPrefix({ encoder, scope, model, at, settings: outlined, details: decision.details })?.key;
  const use = key === undefined ? null : ((await usesOfOthers(log, stream, progress))?.(key, own.at) ?? null);
  if (use === null) return null;
  const there = await recordedAt(log, use.of, use.revision);
  if (there === null) return null;
  const { inferenceId } = requestOf(there);
  const end = own.units.findIndex(({ digest: unit }, place) => bare.units[place]?.digest !== unit);
  const units = own.units.slice(0, end < 0 ? own.units.length : end);
  const prefixes = own.prefixes.slice(0, units.length);
  const writes = new Map<number, string>();
  for (const place of units.keys()) {
    const lifetime = own.boundaries.writes.get(place);
    if (lifetime !== undefined) writes.set(place, lifetime);
  }
  return {
    place: { stream: use.of, revision: use.revision, inferenceId, at: there.at },
    prefix: {
      ...{ ...own, id: inferenceId, at: use.at, answerAt: use.readableFrom, counts: null },
      ...{ units, prefixes, boundaries: { ...own.boundaries, writes } },
    },
  };
}

async function usesOfOthers({ store }: EventLog, own: string, progress: CatchUpOptions) {
  try {
    const read = async (rows: RowProjector<BillView>) => {
      const all = [];
      for await (const { key, view } of rows.readAll()) if (key !== own) all.push({ of: key, uses: view.uses });
      return joinUses(all);
    };
    return await withRows(store, caching, read, progress);
  } catch (error) {
    if (error instanceof TurnlogError && error.code === "access-denied") return null;
    throw error;
  }
}
