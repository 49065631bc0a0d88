import type { z } from "zod";
import type { StreamProblem } from "../../operations/audit/stream-check.ts";
import type { Verification, VerifiedStreamName } from "../../operations/audit/verify.ts";
import type { verifyDocument } from "./stores.ts";

type VerifyDocument = z.infer<typeof verifyDocument>;

type About = { readonly savedHeads: string | null; readonly commandName: string };

/** What `turnlog verify` prints as JSON. */
export const verifyDocumentOf = (
  { isSound, streams, events, requests, problems, skipped }: Omit<Verification, "heads">,
  { savedHeads, commandName }: About,
): VerifyDocument => ({
  ...{ isSound, streams, events, requests, savedHeads },
  problems: problems.map((problem) => ({ ...problem, next: nextStep(problem, commandName) })),
  skipped: skipped.map((each) => ({ ...each })),
});

/** The next step for a problem. */
function nextStep(
  { stream, conversation, revision, kind }: Pick<StreamProblem, "revision" | "kind"> & VerifiedStreamName,
  command: string,
): string {
  const place = `${conversation ?? stream}@${revision}`;
  const fork =
    revision === 0 ? "" : `\`${command} fork ${conversation ?? stream}@${revision - 1}\` continues from before it, or `;
  switch (kind) {
    case "chain":
    case "head":
      return conversation === null
        ? "restore a backup"
        : `${fork}restore a backup; \`${command} cat ${place}\` shows what is there`;
    case "unreadable":
    case "fold":
      return conversation === null
        ? "restore a backup"
        : `look at it with \`${command} cat ${place}\`; then \`${command} skip ${place} --reason …\` continues without it, or ${fork}restore a backup`;
    case "request":
      return `turnlog cannot prove what was sent there; \`${command} show ${place}\` and runs work as before`;
    case "codec":
      return "give a module that exports the provider's codec with --stack FILE";
    case "hole":
      return "contents that are missing without an order of erasure are damage: restore a backup";
    case "snapshot":
      return "reads and runs that start from it may be wrong until you delete it";
    case "view":
      return `\`${command} projections rebuild\` rebuilds the rows`;
  }
}

/** Whether a problem only means that something could not be checked. */
export const isUnchecked = ({ kind }: { readonly kind: string }): boolean => kind === "codec";
