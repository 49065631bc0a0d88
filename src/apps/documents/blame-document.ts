import { shownText } from "../../analysis/descriptions/shown-text.ts";
import type { BlameReport } from "../../analysis/explain/blame-report.ts";
import type { Blame } from "../../projections/client-turn/blame.ts";
import type { BlameDocument } from "./conversations.ts";
import type { FoundPlace } from "./found-place.ts";

/** Who made and last changed blocks, as `turnlog blame` prints it. */
export function blameDocumentOf(
  place: Pick<FoundPlace, "conversation">,
  { revision, blocks, removed, changedEvents }: BlameReport,
): BlameDocument {
  const flat = (versions: Blame["versions"]) => versions.map(({ digest, change }) => ({ digest, ...change }));
  return {
    ...{ conversation: place.conversation.id, revision },
    blocks: blocks.map(({ block, versions, ...told }) => {
      return { ...told, versions: flat(versions), digest: block.recordedAs, removed: null, text: shownText(block) };
    }),
    removed: removed.map(({ versions, block, ...told }) => {
      return { ...told, versions: flat(versions), text: block === null ? null : shownText(block) };
    }),
    changedEvents,
  };
}
