import {
  applyResidue,
  assistant,
  type Block,
  type Draft,
  defineCodec,
  isJsonList,
  isJsonObject,
  type JsonObject,
  keepResidue,
  other,
  reasoning,
  toolCall,
} from "../../../../src/entries/provider.ts";

/**
 * A wire that is unlike the Responses API where it can be: neighbouring parts of one speaker are one message, results stand in
 * messages of the user and name their call by its place, nothing has an id, and every request says all.
 */
export const toyCodec = defineCodec({
  name: "toy/1",
  resultsStandTogether: true,

  unsendableReason(block) {
    const isKnown = block.parts.every(({ type }) => type === "text" || (type === "image" && block.kind === "user"));
    return isKnown ? null : "the toy takes texts, and images of the user";
  },

  encodeRequest({ settings, input }) {
    const talk: { readonly who: string; readonly parts: JsonObject[] }[] = [];
    let calls: (string | null)[] = [];
    for (const { block } of input) {
      const who = speakerOf(block);
      if (talk.at(-1)?.who !== who) {
        talk.push({ who, parts: [] });
        if (who === "model") calls = [];
      }
      if (block.kind === "tool_call") calls.push(block.callId);
      const place = block.kind === "tool_result" ? { of: calls.lastIndexOf(block.callId) } : {};
      talk.at(-1)?.parts.push(...partsOf(block).map((part) => ({ ...part, ...place })));
    }
    return JSON.stringify({ ...settings, talk });
  },

  readAnswer(response, { inferenceId }) {
    const { parts, stop, counts, trouble, ...rest } = response;
    if (!isJsonList(parts) || typeof stop !== "string") throw new Error("an answer of the toy has parts and a stop");
    const failure = typeof trouble === "string" ? { failure: { message: trouble, code: null } } : {};
    return {
      id: null,
      status: stop,
      isComplete: stop === "done",
      blocks: parts.filter(isJsonObject).map((part, index) => draftOf(part, `${inferenceId}/${index}`)),
      ...failure,
      ...(isJsonObject(counts) ? { usage: { ...tokensIn(counts), reported: counts } } : {}),
      rest: {
        ...rest,
        ...(trouble === undefined ? {} : { trouble }),
        ...(counts === undefined || isJsonObject(counts) ? {} : { counts }),
      },
    };
  },

  writeAnswer: ({ status, blocks, usage, rest }) => ({
    parts: blocks.map((block) => applyResidue(block, partsOf(block)[0] ?? {})),
    stop: status,
    ...(usage === undefined ? {} : { counts: usage.reported }),
    ...rest,
  }),
});

function speakerOf({ kind, role }: Block): string {
  if (kind === "tool_result") return "user";
  return role === null || role === "assistant" ? "model" : role;
}

function partsOf(block: Block): readonly JsonObject[] {
  const { kind, name, text, payload, wire } = block;
  if (kind === "tool_call") return [{ call: name, with: text }];
  if (kind === "tool_result") return [{ result: text }];
  if (kind === "reasoning") return [{ think: text, seal: wire?.ciphertext ?? null }];
  if (kind === "other") return [payload];
  return block.parts.map(({ type, text: said, url }) =>
    type === "image" ? { look: url ?? null } : { say: said ?? null },
  );
}

function draftOf(part: JsonObject, callId: string): Draft {
  const block = blockOf(part, callId);
  const { kind, payload } = block;
  const { seal } = part;
  const plain = { ...partsOf(block)[0] };
  if (kind !== "reasoning" || typeof seal !== "string") return keepResidue({ kind, payload }, plain, part);
  return keepResidue({ kind, payload, wire: { ciphertext: seal } }, { ...plain, seal }, part);
}

function blockOf(part: JsonObject, callId: string): Block {
  const { say, think, call, with: given } = part;
  if (typeof say === "string") return assistant(say);
  if (typeof think === "string") return reasoning(think);
  if (typeof call === "string" && call !== "" && typeof given === "string")
    return toolCall({ callId, name: call, arguments: given === "" ? "{}" : given });
  return other(part);
}

/** What is no number is not known. */
const tokensIn = ({ read, said }: JsonObject) => ({
  ...(typeof read === "number" ? { inputTokens: read } : {}),
  ...(typeof said === "number" ? { outputTokens: said } : {}),
});
