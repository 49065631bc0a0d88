import type { ChatDocument } from "../src/testing/rehearsal/chat-format.ts";
import { type Change, changeEntries, drawEdit, type EditOptions } from "../src/testing/rehearsal/edits.ts";
import type { Entry } from "../src/testing/rehearsal/entries.ts";
import { type Play, type PlayOptions, playOf } from "../src/testing/rehearsal/exchanges.ts";
import { expectedOf, legalEntries } from "../src/testing/rehearsal/expected.ts";
import type { RehearsalParts, RehearsalServer } from "../src/testing/rehearsal/ports.ts";
import type { Choice, MarkedBlock, PublishedStrategy, Snapshot } from "./published-strategies.ts";

/** How many calls of a client's conversations were correct. */
export type Verdicts = { readonly coherent: number; readonly incoherent: number };

/**
 * Plays conversations like a small client that keeps a list of blocks, with the edits of a rehearsal of the engine, and has each
 * call judged in the same way. A rejected request is sent once more, in full.
 */
export async function rehearsePublished(
  documents: readonly ChatDocument[],
  parts: RehearsalParts,
  { strategy, ...options }: PublishedOptions,
): Promise<Verdicts> {
  let answers: readonly (readonly Entry[])[] = [];
  await using server = await parts.startServer((request) => answers[request] ?? []);
  let [coherent, incoherent] = [0, 0];
  for (const document of documents) {
    const { exchanges } = playOf(document, options);
    // A rejected request is not an inference: the server then counts answers as the document does.
    answers = exchanges.map(({ answer }) => answer);
    const read = await playOne({ id: document.id, exchanges, options, server, strategy });
    coherent += read;
    incoherent += exchanges.length - read;
    server.clear();
  }
  return { coherent, incoherent };
}

export type PublishedOptions = PlayOptions & EditOptions & { readonly strategy: PublishedStrategy };

type PublishedPlay = Pick<Play, "exchanges"> & {
  readonly id: string;
  readonly options: EditOptions;
  readonly server: RehearsalServer;
  readonly strategy: PublishedStrategy;
};

/** How many calls of a conversation the model read as in the client's list. */
async function playOne({ id, exchanges, options, server, strategy }: PublishedPlay): Promise<number> {
  let coherent = 0;
  let blocks: readonly MarkedBlock[] = [];
  let newest: Snapshot | null = null;
  let made = 0;
  const marker =
    (responseId: string | null) =>
    (entry: Entry): MarkedBlock => {
      made += 1;
      return { id: String(made), entry, responseId, call: null };
    };
  for (const [request, { appended, answer }] of exchanges.entries()) {
    blocks = [...blocks, ...appended.map(marker(null))];
    const edit = drawEdit(entriesOf(blocks), { conversation: id, request }, options);
    const outgoing = edit === null ? blocks : changed(blocks, edit.change, marker(null));
    const turn = legalBlocks(outgoing);
    const choice = strategy(turn, newest);
    const responseId =
      (await ask(server, choice)) ?? (choice.anchor === null ? null : await ask(server, { anchor: null, send: turn }));
    if (responseId === null) throw new Error(`${id}, request ${request}: the server refused the whole Turn`);
    if (server.difference(server.requests.length - 1, expectedOf(entriesOf(outgoing))) === null) coherent += 1;
    const answered = answer.map(marker(responseId));
    newest = { responseId, blocks: [...turn, ...answered] };
    blocks = [...(edit?.isOnce === true ? blocks : outgoing), ...answered];
  }
  return coherent;
}

const entriesOf = (blocks: readonly MarkedBlock[]): readonly Entry[] => blocks.map(({ entry }) => entry);

/** Applies a change to entries; an edited block keeps its id and its mark. */
function changed(
  blocks: readonly MarkedBlock[],
  change: Change,
  mark: (entry: Entry) => MarkedBlock,
): readonly MarkedBlock[] {
  const byEntry = new Map(blocks.map((block) => [block.entry, block]));
  return changeEntries(entriesOf(blocks), change).map((entry, index) => {
    const same = byEntry.get(entry);
    if (same !== undefined) return same;
    const edited = change.type === "replace" ? blocks[index] : undefined;
    return edited === undefined ? mark(entry) : { ...edited, entry };
  });
}

/**
 * The blocks that a server accepts: open calls are answered, results without a call are left out. Calls are numbered, and results
 * have the number of theirs.
 */
function legalBlocks(blocks: readonly MarkedBlock[]): readonly MarkedBlock[] {
  const byEntry = new Map(blocks.map((block) => [block.entry, block]));
  const calls: MarkedBlock[] = [];
  return legalEntries(entriesOf(blocks)).map(({ entry, call }) => {
    const known = byEntry.get(entry) ?? { id: `${calls[call ?? 0]?.id} aborted`, entry, responseId: null, call };
    const block: MarkedBlock = { ...known, call };
    if (entry.kind === "call") calls.push(block);
    return block;
  });
}

/** The id of the response; null if the server rejected the request. */
async function ask({ baseUrl }: RehearsalServer, { anchor, send }: Choice): Promise<string | null> {
  const body = {
    model: "rehearsal",
    ...(anchor === null ? {} : { previous_response_id: anchor }),
    input: send.map(({ entry, call }) =>
      // Recorded call ids may repeat, which a server does not accept within one input.
      anchor === null && "callId" in entry ? itemOf({ ...entry, callId: `call_${call}` }) : itemOf(entry),
    ),
  };
  const headers = { "content-type": "application/json", authorization: "Bearer rehearsal" };
  const answer = await fetch(`${baseUrl}/responses`, { method: "POST", headers, body: JSON.stringify(body) });
  // Answers of the reference server have this shape.
  const { id } = (await answer.json()) as { readonly id?: string };
  return answer.ok ? (id ?? null) : null;
}

function itemOf(entry: Entry): object {
  switch (entry.kind) {
    case "call":
      return { type: "function_call", call_id: entry.callId, name: entry.name, arguments: entry.arguments };
    case "result":
      return { type: "function_call_output", call_id: entry.callId, output: entry.output };
    case "message": {
      const type = entry.role === "assistant" ? "output_text" : "input_text";
      return {
        role: entry.role,
        content: entry.parts.map((part) => ({ type, text: "text" in part ? part.text : "" })),
      };
    }
    case "reasoning":
      throw new Error("the comparison is played without reasoning: published clients do not say how they carry it");
  }
}
