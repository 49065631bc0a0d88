import { isJsonObject, type JsonObject, jsonOf } from "../../../src/base/json.ts";
import type { Conversation } from "../../../src/conversation/conversation.ts";
import type { Block } from "../../../src/domain/block.ts";
import { openaiResponses } from "../../../src/entries/responses.ts";
import { createEngine, defineMiddleware, openStore, secret } from "../../../src/index.ts";
import { ownMembers } from "../../../src/providers/responses/request-body.ts";
import { responsesCodec } from "../../../src/providers/responses/responses-codec.ts";
import { type OpenaiResponsesOptions, settingOptions } from "../../../src/providers/responses/responses-options.ts";
import { type Exchange, itemsOf } from "./recorded-cases.ts";

/** What turnlog sent in the place of a recorded request; null where it sent nothing. */
export type Resent = { readonly exchange: Exchange; readonly sent: JsonObject | null };

export const isCreate = ({ method, path }: Exchange): boolean => method === "POST" && path.endsWith("/responses");

/**
 * The requests of one case, made by turnlog: one conversation, to which is appended what the recorded client had to say, and
 * whose Turn a layer leaves as that client left its own. The server gives the recorded answers.
 */
export async function resend(exchanges: readonly Exchange[]): Promise<readonly Resent[]> {
  await using store = await openStore("memory:");
  let conversation = store.conversation();
  const resent: Resent[] = [];
  for (const exchange of exchanges.filter(isCreate)) {
    // What takes up nothing of what was answered so far is another conversation.
    if (!(await isContinued(conversation, exchange))) conversation = store.conversation();
    await holdParent(conversation, exchange);
    const bodies = await ask(conversation, exchange, exchanges);
    resent.push({ exchange, sent: bodies[0] ?? null });
  }
  return resent;
}

/** Sends one recorded request; gives every body that left. */
async function ask(
  conversation: Conversation,
  exchange: Exchange,
  exchanges: readonly Exchange[],
): Promise<readonly JsonObject[]> {
  const bodies: JsonObject[] = [];
  const provider = openaiResponses({
    ...optionsOf(exchange),
    fetch: async (_address, init) => {
      const isFetch = init?.method?.toLowerCase() === "get";
      if (!isFetch) bodies.push(objectIn(init?.body));
      return answerOf(isFetch ? (fetched(exchange, exchanges) ?? exchange) : exchange);
    },
  });
  const wanted = blocksOf(exchange);
  const { blocks } = await conversation.turn();
  const isChained = parentOf(exchange) !== null;
  const news = isChained ? wanted : wanted.slice(1 + aligned(blocks, wanted).findLastIndex(({ id }) => id !== null));
  await conversation.append(news);
  const asRecorded = defineMiddleware({ name: "recorded-client", version: "1.0.0" }, (next) => (turn) => {
    return next(isChained ? turn : turn.with(aligned(turn.blocks, wanted)));
  });
  await conversation.run(createEngine({ provider, middleware: [asRecorded] })).catch(() => undefined);
  return bodies;
}

async function isContinued(conversation: Conversation, exchange: Exchange): Promise<boolean> {
  if (parentOf(exchange) !== null) return true;
  const { blocks } = await conversation.turn();
  return aligned(blocks, blocksOf(exchange)).some(({ wire }) => wire?.group !== undefined);
}

/** A parent from before the recording, whose answer is unknown. */
async function holdParent(conversation: Conversation, exchange: Exchange): Promise<void> {
  const id = parentOf(exchange);
  const { blocks } = await conversation.turn();
  if (id === null || blocks.length > 0) return;
  const response = { id, object: "response", status: "completed", output: [], previous_response_id: null };
  const { instructions: _, ...options } = optionsOf(exchange);
  const provider = openaiResponses({ ...options, transport: "json", fetch: async () => Response.json(response) });
  await conversation.append("what was said before the recording began");
  await conversation.run(createEngine({ provider }));
}

/** The recorded blocks, each as the conversation's own where it says the same. */
function aligned(own: readonly Block[], wanted: readonly Block[]): readonly Block[] {
  let from = 0;
  return wanted.map((block) => {
    const place = own.findIndex(({ digest }, index) => index >= from && digest === block.digest);
    if (place === -1) return block;
    from = place + 1;
    return own[place] ?? block;
  });
}

/** The recorded settings as a caller gives them. */
function optionsOf({ provider, request }: Exchange): OpenaiResponsesOptions {
  const given = Object.entries(request).filter(([name]) => !ownMembers.has(name) && name !== "conversation");
  const settings = Object.fromEntries(given.filter(([name]) => Object.hasOwn(settingOptions, name)));
  const others = Object.fromEntries(given.filter(([name]) => !Object.hasOwn(settingOptions, name)));
  const secrets: Record<string, string> = {};
  const tools = itemsOf(request["tools"]).map((tool) => withoutCredentials(tool, secrets));
  const isSealed = JSON.stringify(request["include"] ?? []).includes("reasoning.encrypted_content");
  // Recorded settings are JSON that a server took, and their names were looked at just now.
  const options = {
    ...settings,
    ...(tools.length === 0 ? {} : { tools }),
    extraBody: others,
  } as unknown as OpenaiResponsesOptions;
  return {
    ...options,
    secrets,
    ...{
      apiKey: "none",
      baseURL: `https://${provider}.test/v1`,
      transport: request["stream"] === true ? "sse" : "json",
    },
    // A client that sends everything each time asks the server to store it all the same.
    capabilities: { chain: typeof request["previous_response_id"] === "string", encryptedReasoning: isSealed },
  };
}

/** A tool as the log may have it: the values of its headers are given beside it. */
function withoutCredentials(tool: JsonObject, secrets: Record<string, string>): JsonObject {
  const { headers } = tool;
  if (!isJsonObject(headers)) return tool;
  const named = Object.entries(headers).map(([name, value]) => {
    secrets[name] = typeof value === "string" ? value : "";
    return [name, secret(name)] as const;
  });
  return { ...tool, headers: Object.fromEntries(named) };
}

const parentOf = ({ request: { previous_response_id: id } }: Exchange): string | null =>
  typeof id === "string" ? id : null;

/** The input as blocks that came from the exchange's endpoint. */
function blocksOf(exchange: Exchange): readonly Block[] {
  const { scope } = openaiResponses(optionsOf(exchange));
  return inputOf(exchange.request).map((item) => responsesCodec.decodeItem(item, { scope }));
}

const inputOf = ({ input }: JsonObject): readonly JsonObject[] =>
  typeof input === "string" ? [{ role: "user", content: input }] : itemsOf(input);

const answerOf = ({ status, contentType, answer }: Exchange): Response =>
  new Response(answer, { status, headers: { "content-type": contentType } });

/** What a later retrieve gave of a response that was queued. */
const fetched = ({ response: { id } }: Exchange, exchanges: readonly Exchange[]): Exchange | undefined =>
  exchanges.find(({ method, path }) => method === "GET" && typeof id === "string" && path.includes(id));

function objectIn(body: unknown): JsonObject {
  const value = typeof body === "string" ? jsonOf(body) : undefined;
  return isJsonObject(value) ? value : {};
}
