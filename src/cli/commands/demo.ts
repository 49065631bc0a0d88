import type { Conversation } from "../../conversation/conversation.ts";
import { conversationStream } from "../../domain/ids.ts";
import { describeDivergence } from "../../projections/timeline.ts";
import { counted, grouped } from "../../projections/wording.ts";
import { openaiResponses } from "../../providers/openai-responses.ts";
import { startReferenceServer } from "../../reference-server/server.ts";
import type { CliContext, CommandHandler } from "../context.ts";
import { playDemo } from "../demo/play.ts";
import { type ShownRequest, see, type WatchedConversation, watch } from "../demo/shown-request.ts";
import { answerAsTravelAgent } from "../demo/travel-agent.ts";
import { UsageError } from "../exit-codes.ts";
import { textOption } from "../options.ts";
import { shownUrl } from "../shown-url.ts";

/** A conversation from beginning to end, with what was sent, what it would have cost, and who broke a chain. */
export const run: CommandHandler = async (context, { options }) => {
  const elsewhere = textOption(options, "server");
  await using server = elsewhere === null ? await startReferenceServer({ answer: answerAsTravelAgent }) : null;
  const baseURL = server?.baseUrl ?? addressOf(elsewhere ?? "");
  await using store = await context.openStore({ mustExist: false });
  const conversation = store.conversation();
  const provider = openaiResponses({ model: "demo", baseURL, apiKey: "demo", organization: "", project: "" });
  say(context, context.style.dim(`a travel agent with 4 layers and 4 tools, talking to ${baseURL}`));
  const watched = watch(conversationStream(conversation.id));
  const requests: ShownRequest[] = [];
  for await (const { type, text } of playDemo(conversation, provider, { signal: context.signal })) {
    if (type === "answer") requests.push(...(await showRequests(context, conversation, watched, requests.length)));
    say(
      context,
      type === "question" ? `\n${context.style.bold("you  ")} ${text}` : `${context.style.bold("agent")} ${text}`,
    );
  }
  report(context, conversation, requests);
};

const say = (context: CliContext, text: string): void => {
  if (!context.isJson && !context.isQuiet) context.print(text);
};

async function showRequests(
  context: CliContext,
  conversation: Conversation,
  watched: WatchedConversation,
  count: number,
): Promise<readonly ShownRequest[]> {
  const requests: ShownRequest[] = [];
  for await (const recorded of conversation.events(watched.next)) {
    const request = see(watched, recorded);
    if (request !== null) {
      requests.push(request);
      say(context, requestLine(context, request, count + requests.length));
    } else if (recorded.event.type === "ToolStarted") {
      say(context, context.style.dim(`       tool ${recorded.event.data.name}`));
    }
  }
  return requests;
}

function requestLine({ style }: CliContext, request: ShownRequest, number: number): string {
  const { strategy, reason, bytes, fullBytes, brokenBy } = request;
  const colour = strategy === "chained" ? style.good : style.warn;
  const size = `${grouped(bytes).padStart(6)} of ${grouped(fullBytes).padStart(6)} bytes`;
  const why = brokenBy === null ? (reason ?? "") : `${describeDivergence(brokenBy)} (${brokenBy.block})`;
  return `  ${String(number).padStart(2)}   ${colour(strategy.padEnd(7))} ${size}  ${why}`.trimEnd();
}

function report(context: CliContext, conversation: Conversation, requests: readonly ShownRequest[]): void {
  const count = (strategy: ShownRequest["strategy"]): number =>
    requests.filter((request) => request.strategy === strategy).length;
  const bytesSent = requests.reduce((sum, { bytes }) => sum + bytes, 0);
  const bytesFull = requests.reduce((sum, { fullBytes }) => sum + fullBytes, 0);
  const totals = {
    requests: requests.length,
    chained: count("chained"),
    rebased: count("rebased"),
    full: count("full"),
    bytesSent,
    bytesFull,
  };
  const { id } = conversation;
  if (context.isJson) {
    context.printJson({ conversation: id, store: shownUrl(context.storeUrl), requests, totals });
    return;
  }
  const percent = Math.round((bytesSent / bytesFull) * 100);
  const broken = requests.find(({ strategy }) => strategy === "rebased") ?? requests[0];
  context.print(
    `\n${counted(totals.requests, "request")}: ${totals.chained} chained, ${totals.rebased} rebased, ${totals.full} full`,
  );
  context.print(
    `${grouped(bytesSent)} bytes sent; sending everything each time takes ${grouped(bytesFull)} (${percent} %)`,
  );
  context.print(`\nThe conversation is ${id} in ${shownUrl(context.storeUrl)}. Two commands to try:`);
  const store =
    context.storeUrl === "sqlite:./turnlog.db" || process.env["TURNLOG_STORE"] === context.storeUrl
      ? ""
      : ` --store ${shownUrl(context.storeUrl)}`;
  context.print(`  ${context.commandName} log ${id}${store}`);
  context.print(`  ${context.commandName} why ${id}@${broken?.revision ?? -1}${store}`);
}

/** With the path that clients want, where a server was named without one. */
function addressOf(text: string): string {
  if (!URL.canParse(text))
    throw new UsageError(`--server takes an address such as http://127.0.0.1:4010, not '${text}'`);
  const url = new URL(text);
  return url.pathname === "/" ? `${url.origin}/v1` : text;
}
