import { isJsonList, type JsonObject } from "../../base/json.ts";
import type { Block, BlockKind } from "../../domain/block.ts";
import type { Repair } from "../../domain/events/inference-events.ts";
import { resultParts } from "../../domain/message-content.ts";
import type { Capabilities } from "../ports/capabilities.ts";
import type { Codec } from "../ports/codec.ts";
import { refusedPart } from "../ports/part-capabilities.ts";

/** A part that a request cannot carry: its place in its block, and the reason, as a text for people. */
export type UnsendablePart = { readonly place: number; readonly type: string; readonly reason: string };

/** The destination of a request. */
export type Carrier = {
  readonly codec: Pick<Codec, "unsendablePart">;
  readonly scope: string;
  /** The endpoint's capabilities; absent if it accepts everything that its wire has a form for. */
  readonly capabilities?: Capabilities;
};

/** The parts of a block at a place among the sent ones, in a message or a tool's result, that a request cannot carry. */
export function unsendableParts(
  blocks: readonly Block[],
  place: number,
  { codec, scope, capabilities = {} }: Carrier,
): readonly UnsendablePart[] {
  const block = blocks[place];
  if (block === undefined) return none;
  let unsent = none;
  const parts = partsIn(block);
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? {};
    const reason =
      codec.unsendablePart?.(part, block) ??
      refusedPart(part, capabilities) ??
      keptElsewhere(part, { blocks, place, scope });
    if (reason !== null) unsent = [...unsent, { place: at, type: typeOf(part), reason }];
  }
  return unsent;
}

/** Almost every block can be carried whole, and a request may have thousands. */
const none: readonly UnsendablePart[] = [];

/**
 * The repair that leaves parts out. A result must be sent even if all its parts are left out, so a text replaces them. The repair
 * holds that text, so that the request can be rebuilt after the wording has changed.
 */
export function omitParts(index: number, block: Block, parts: readonly UnsendablePart[]): Repair {
  const isAll = parts.length === partsIn(block).length;
  const instead =
    isAll && block.kind === "tool_result" ? `[not shown: ${parts.map(({ type }) => type).join(", ")}]` : null;
  const detail = { parts: parts.map(({ place }) => place), reason: "unsendable" };
  return { rule: "omit-parts", index, detail: instead === null ? detail : { ...detail, instead } };
}

/** The block after this repair; null if nothing is left. */
export function withoutParts(block: Block, { detail }: Repair): Block | null {
  const { parts, instead } = detail;
  if (typeof instead === "string") return block.withPayload({ ...block.payload, output: instead });
  const gone = new Set(isJsonList(parts) ? parts : []);
  const left = partsIn(block).filter((_, place) => !gone.has(place));
  if (left.length === 0) return null;
  return block.withPayload({ ...block.payload, [block.kind === "tool_result" ? "output" : "content"]: left });
}

/** A tool's list of another kind has no parts: it is one value. */
const partsIn = ({ kind, payload, parts }: Block): readonly JsonObject[] =>
  kind === "tool_result" ? (resultParts(payload["output"]) ?? []) : parts;

const typeOf = ({ type }: JsonObject): string => (typeof type === "string" ? type : "unknown");

/**
 * Why a part cannot be sent to an endpoint: it names a file by an id of another server. Null if the id is this server's, or its
 * server is not known yet.
 */
function keptElsewhere(
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
