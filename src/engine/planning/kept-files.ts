import type { JsonObject } from "../../base/json.ts";
import type { Block, BlockKind } from "../../domain/block.ts";

/**
 * Why a part cannot be sent to an endpoint: it names a file by an id of another server. Null if the id is this server's, or its
 * server is not known yet.
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
 * The endpoint that owns the files of a block: the one that the block was imported from, or else the first to answer after it,
 * because endpoints reject file ids that they do not know.
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

/**
 * The part of a scope that identifies the owner of files: the address and the account. It is the same for all wires of a server,
 * and after a change of keys.
 */
const serverIn = (scope: string): string =>
  scope
    .split(" ")
    .filter((word, place) => place === 1 || /^(organization|project)=/.test(word))
    .join(" ");
