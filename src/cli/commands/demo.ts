import type * as z from "zod";
import type { Conversation } from "../../conversation/conversation.ts";
import type { ConversationEventOf } from "../../domain/events/event.ts";
import { conversationStream } from "../../domain/ids.ts";
import type { Mode } from "../../engine/stack/chain-policy.ts";
import { describeDivergence } from "../../projections/describe-inference.ts";
import { describeReason } from "../../projections/reasons.ts";
import { counted, grouped, shortId } from "../../projections/wording.ts";
import { openaiResponses } from "../../providers/responses/openai-responses.ts";
import { startReferenceServer } from "../../reference-server/server.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { type CliContext, defaultStoreUrl, type Screen, shownUrl } from "../context.ts";
import { playDemo } from "../demo/play.ts";
import { see, type WatchedConversation, watch } from "../demo/shown-request.ts";
import { answerAsTravelAgent } from "../demo/travel-agent.ts";
import { type DemoRequest, demoDocument } from "../documents/running.ts";

/** A conversation from beginning to end, with what was sent, what it would have cost, and who broke a chain. */
export const demo = commandCode({
  document: demoDocument,

  async *run(
    context,
    {
      options: { server: elsewhere, mode = "chained" },
    }: CommandInput<{ readonly server?: string; readonly mode?: Mode }>,
  ) {
    await using server = elsewhere === undefined ? await startReferenceServer({ answer: answerAsTravelAgent }) : null;
    const baseURL = server?.baseUrl ?? elsewhere ?? "";
    await using store = await context.openStore("create");
    const conversation = store.conversation();
    const provider = openaiResponses({ model: "demo", baseURL, apiKey: "demo", organization: "", project: "" });
    const { bold, dim } = context.style;
    say(context, dim(`a travel agent with 4 layers and 4 tools, talking to ${baseURL}`));
    const watched = watch(conversationStream(conversation.id));
    const requests: DemoRequest[] = [];
    for await (const { type, text } of playDemo(conversation, provider, { signal: context.signal, mode })) {
      if (type === "answer") requests.push(...(await showRequests(context, conversation, watched, requests.length)));
      say(context, type === "question" ? `\n${bold("you  ")} ${text}` : `${bold("agent")} ${text}`);
    }
    yield { conversation: conversation.id, store: shownUrl(context.storeUrl), requests, totals: totalsOf(requests) };
  },

  render(document, screen) {
    const { totals, conversation, store } = document;
    const { chained, rebased, full, bytesSent, bytesFull } = totals;
    const percent = Math.floor((1 - bytesSent / bytesFull) * 100);
    const broken = document.requests.find(({ strategy }) => strategy === "rebased") ?? document.requests[0];
    const { print, commandName } = screen;
    const named = isFound(screen) ? "" : ` --store ${store}`;
    print(
      `\n${counted(totals.requests, "request")}: ${chained} chained, ${rebased} rebased, ${full} full`,
      `${grouped(bytesSent)} bytes sent, ${percent} % less than the ${grouped(bytesFull)} of sending everything each time`,
      `\nThe conversation is ${conversation} in ${store}. Two commands to try:`,
      `  ${commandName} log ${conversation}${named}`,
      `  ${commandName} why ${conversation}@${broken?.revision ?? -1}${named}`,
    );
  },
});

/** Whether the next command finds the store without being told. */
const isFound = ({ storeUrl }: Screen): boolean =>
  storeUrl === defaultStoreUrl || process.env["TURNLOG_STORE"] === storeUrl;

function totalsOf(requests: readonly DemoRequest[]): z.infer<typeof demoDocument>["totals"] {
  const count = (strategy: DemoRequest["strategy"]): number =>
    requests.filter((request) => request.strategy === strategy).length;
  return {
    requests: requests.length,
    chained: count("chained"),
    rebased: count("rebased"),
    full: count("full"),
    bytesSent: requests.reduce((sum, { bytes }) => sum + bytes, 0),
    bytesFull: requests.reduce((sum, { fullBytes }) => sum + fullBytes, 0),
  };
}

/** Tells people what happens while it does; the document comes at the end. */
const say = (context: CliContext, text: string): void => {
  if (!context.isJson && !context.isQuiet) context.print(text);
};

async function showRequests(
  context: CliContext,
  conversation: Conversation,
  watched: WatchedConversation,
  count: number,
): Promise<readonly DemoRequest[]> {
  const requests: DemoRequest[] = [];
  for await (const recorded of conversation.events(watched.next)) {
    const request = see(watched, recorded);
    if (request !== null) {
      requests.push(request);
      say(context, requestLine(context, request, count + requests.length));
    } else if (recorded.event.type === "ToolStarted") {
      say(context, context.style.dim(`       tool ${recorded.event.data.name}`));
    } else if (recorded.event.type === "ServerConversationChanged") {
      say(context, context.style.dim(`       ${objectWords(recorded.event.data)}`));
    }
  }
  return requests;
}

/** What became of the server's object before a request. */
const objectWords = ({
  anchor,
  change,
  items = [],
}: ConversationEventOf<"ServerConversationChanged">["data"]): string =>
  change === "made" ? `conversation ${shortId(anchor.id)} is made` : `${counted(items.length, "item")} deleted from it`;

function requestLine({ style }: CliContext, request: DemoRequest, number: number): string {
  const { strategy, reason, bytes, fullBytes, brokenBy } = request;
  const colour = strategy === "chained" ? style.good : style.warn;
  const size = `${grouped(bytes).padStart(6)} of ${grouped(fullBytes).padStart(6)} bytes`;
  const why = brokenBy === null ? describeReason(reason ?? "") : `${describeDivergence(brokenBy)} (${brokenBy.block})`;
  return `  ${String(number).padStart(2)}   ${colour(strategy.padEnd(7))} ${size}  ${why}`.trimEnd();
}
