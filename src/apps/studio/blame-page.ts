import type * as z from "zod";
import type { BlameReport } from "../../analysis/explain/blame-report.ts";
import { turnSpokenOf } from "../../analysis/time-travel/place.ts";
import { blameDocumentOf } from "../documents/blame-document.ts";
import type { blameDocument } from "../documents/conversations.ts";
import type { FoundPlace } from "../documents/found-place.ts";
import { fitting } from "./by-bytes.ts";

/** How much of a block's text a row shows, how many of its versions, and how many removed blocks and changed events a page names. */
const [mostCharacters, mostVersions, mostRemoved, mostChanged] = [240, 20, 20, 20];

type Blame = z.infer<typeof blameDocument>;

/** A page of the document of `turnlog blame`: beginnings of texts, and the newest versions. */
export type BlamePage = Blame & {
  readonly from: number;
  /** How many blocks the Turn has, and how many are not in it any more. */
  readonly total: number;
  readonly allRemoved: number;
};

/** @param report - Of this part of the Turn, or of a single block. */
export function blamePage(
  place: FoundPlace,
  report: BlameReport,
  { from, only }: { readonly from: number; readonly only: string | null },
): BlamePage {
  const { conversation, revision, blocks, removed, changedEvents } = blameDocumentOf(place, {
    ...report,
    removed: report.removed.slice(0, mostRemoved),
    changedEvents: report.changedEvents.slice(0, mostChanged),
  });
  return {
    ...{ conversation, revision, from, changedEvents },
    blocks: fitting(
      blocks.map((block) => ({
        ...block,
        text: block.text.slice(0, mostCharacters),
        versions: block.versions.slice(-mostVersions),
      })),
      70_000,
    ),
    removed: fitting(
      removed.map((block) => ({ ...block, text: null, versions: block.versions.slice(-1) })),
      10_000,
    ),
    total: only === null ? turnSpokenOf(place.past).length : report.blocks.length,
    allRemoved: report.removed.length,
  };
}
