import { idOf } from "../domain/block.ts";
import type { Owner } from "../domain/events/run-events.ts";
import { type Life, lifeOf } from "../log/writer/owner.ts";
import type { OpenRun } from "../projections/client-turn.ts";
import { printable } from "../projections/wording.ts";
import type { CliContext } from "./context.ts";

/** When an open run was heard of last, and whether what is looked at is how it stands now. */
export type LastHeard = { readonly at: string; readonly isNow: boolean };

/** Who has an open run, and what of it is not finished, for `--json`. */
export const openRunData = (run: OpenRun, { at, isNow }: LastHeard) => ({
  owner:
    run.owner === null ? null : { host: run.owner.host, pid: run.owner.pid, life: isNow ? lifeOf(run.owner) : null },
  lastEventAt: at,
  openCalls: openCalls(run),
  inDoubt: [...run.inDoubt].map(([blockId, name]) => ({ blockId, name })),
});

/** The same in lines for people. */
export function openRunLines(context: CliContext, run: OpenRun, { at, isNow }: LastHeard): readonly string[] {
  const calls = openCalls(run).filter(({ blockId }) => !run.inDoubt.has(blockId));
  return [
    ...(run.owner === null ? [] : [`  ${ownerWords(context, run.owner, { at, isNow })}`]),
    ...calls.map(
      ({ blockId, name, isStarted }) =>
        `  ${isStarted ? "begun, and not answered" : "not begun"}: ${printable(name)}, ${blockId}`,
    ),
    ...[...run.inDoubt].map(([id, name]) =>
      context.style.warn(`  in doubt: ${printable(name)}, settled by --settle ${id}=…`),
    ),
  ];
}

function ownerWords({ commandName }: CliContext, owner: Owner, { at, isNow }: LastHeard): string {
  const who = `${owner.pid} on ${printable(owner.host)}`;
  if (!isNow) return `its process was ${who}`;
  const lives: Readonly<Record<Life, string>> = {
    alive: "is alive",
    dead: `is dead: \`${commandName} resume\` takes it up`,
    unknown: `is silent since ${at.slice(0, 23).replace("T", " ")}`,
  };
  return `its process ${who} ${lives[lifeOf(owner)]}`;
}

const openCalls = ({ turns }: OpenRun) =>
  turns.openCalls.map((call) => ({
    blockId: idOf(call),
    name: call.name ?? "",
    isStarted: turns.isToolStarted(idOf(call)),
  }));
