import type { JsonObject } from "../../base/json.ts";
import type { Block, BlockKind } from "../../domain/block.ts";

/**
 * Why a part cannot go to an endpoint: it names a file by the id that another server keeps it under. Null where that server is this one,
 * or nobody knows yet.
 */
export function keptElsewhere(
  { fileId }: JsonObject,
  { blocks, place, scope }: { readonly blocks: readonly Block[]; readonly place: number; readonly scope: string },
): string | null {
  if (typeof fileId !== "string") return null;
  const keeper = keeperOf(blocks, place);
  return keeper === null || serverIn(keeper) === serverIn(scope)
    ? null
    : `its id is one of ${keeper.split(" ").slice(0, 2).join(" ")}, which keeps the file`;
}

/**
 * The endpoint that keeps the files of a block: the one that the block was taken in from, else the first that answered behind it, for an
 * endpoint that does not know an id refuses the request.
 */
function keeperOf(blocks: readonly Block[], place: number): string | null {
  const own = blocks[place]?.wire?.scope;
  if (own !== undefined) return own;
  for (let at = place + 1; at < blocks.length; at += 1) {
    const { kind, wire } = blocks[at] ?? {};
    if (kind !== undefined && wire != null && isModels(kind)) return wire.scope;
  }
  return null;
}

const isModels = (kind: BlockKind): boolean => kind !== "user" && kind !== "system" && kind !== "tool_result";

/** What of a scope says whose files it has: the address, and the account. Wires of one server, and keys that change, have the same. */
const serverIn = (scope: string): string =>
  scope
    .split(" ")
    .filter((word, place) => place === 1 || /^(organization|project)=/.test(word))
    .join(" ");
