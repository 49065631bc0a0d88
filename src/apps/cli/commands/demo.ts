import { startReferenceServer } from "@turnlog/reference-server/server";
import type * as z from "zod";
import { describeDivergence } from "../../../analysis/descriptions/describe-inference.ts";
import { describeRequestReason } from "../../../analysis/descriptions/describe-reason.ts";
import { shortId } from "../../../analysis/descriptions/labels.ts";
import { counted, grouped } from "../../../base/counted.ts";
import type { Conversation } from "../../../conversation/conversation.ts";
import type { ConversationEventOf } from "../../../domain/events/event.ts";
import { isHole } from "../../../domain/events/recorded.ts";
import { conversationStream } from "../../../domain/ids.ts";
import type { Mode } from "../../../engine/options/chain-policy.ts";
import {
  type ConversationListView,
  type ConversationSummary,
  conversationList,
} from "../../../projections/views/conversation-list.ts";
import { openaiResponses } from "../../../providers/responses/openai-responses.ts";
import { type DemoRequest, demoDocument } from "../../documents/running.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { type CliContext, type Screen, shownUrl } from "../context.ts";
import { playDemo } from "../demo/play.ts";
import { answerAsTravelAgent } from "../demo/travel-agent.ts";
import { savedPercent } from "../saved-percent.ts";
import { defaultStoreUrl } from "../settings.ts";

/** A conversation from beginning to end, with what was sent, what it would have cost in full, and who broke a chain. */
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
    await using store = await context.openStore("create-told");
    const conversation = store.conversation();
    const provider = openaiResponses({ model: "demo", baseURL, apiKey: "demo", organization: "", project: "" });
    const { bold, dim } = context.style;
    say(context, dim(`a travel agent with 4 layers and 4 tools, talking to ${baseURL}`));
    const shown: Shown = {
      next: 0,
      requests: [],
      listed: conversationList.initial(conversationStream(conversation.id)),
    };
    for await (const { type, text } of playDemo(conversation, provider, { signal: context.signal, mode })) {
      if (type === "answer") await showNews(context, conversation, shown);
      say(context, type === "question" ? `\n${bold("you  ")} ${text}` : `${bold("agent")} ${text}`);
    }
    const { requests, listed } = shown;
    const totals = totalsOf(listed.summary);
    yield { conversation: conversation.id, store: shownUrl(context.storeUrl), requests, totals };
  },

  render(document, screen) {
    const { totals, conversation, store } = document;
    const { chained, rebased, full, bytesSent } = totals;
    const broken = document.requests.find(({ strategy }) => strategy === "rebased") ?? document.requests[0];
    const { print, commandName } = screen;
    const named = isFound(screen) ? "" : ` --store ${shellWord(store)}`;
    print(
      `\n${counted(totals.requests, "request")}: ${chained} chained, ${rebased} rebased, ${full} full`,
      `${grouped(bytesSent)} bytes sent, ~${savedPercent(totals)} % less than sending everything each time`,
    );
    // A store in memory is gone before the next command.
    const closing =
      store === "memory:"
        ? [
            `\nThe conversation was kept in memory and ends with this command. To look at one: ${commandName} demo --store ${defaultStoreUrl}`,
          ]
        : [
            `\nThe conversation is ${conversation} in ${store}. Two commands to try${hasLogin(screen) ? ", with the user and password in the address" : ""}:`,
            `  ${commandName} log ${conversation}${named}`,
            `  ${commandName} why ${conversation}@${broken?.revision ?? -1}${named}`,
            `\nTo see it in the browser: ${commandName} studio -c ${conversation}${named}`,
          ];
    print(...closing);
  },
});

/** A word quoted for a POSIX shell, where ? would make an address a pattern, and & would start a background job. */
const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Whether the next command finds the store without an option. */
const isFound = ({ storeUrl }: Screen): boolean =>
  storeUrl === defaultStoreUrl || process.env["TURNLOG_STORE"] === storeUrl;

/** Whether the address has a user, which is not shown. */
const hasLogin = (screen: Screen): boolean => !isFound(screen) && /^[\w+]+:\/\/[^/]*@/.test(screen.storeUrl);

/** The totals that `turnlog ls` shows. */
const totalsOf = ({
  requests,
  chained,
  rebased,
  full,
  bytesSent,
  bytesSaved,
}: ConversationSummary): z.infer<typeof demoDocument>["totals"] => ({
  requests,
  chained,
  rebased,
  full,
  bytesSent,
  bytesSaved,
});

/** Prints the course of events for people; the document comes at the end. */
const say = (context: CliContext, text: string): void => {
  if (!context.isJson && !context.isQuiet) context.print(text);
};

/** The next revision to print, the requests so far, and the conversation's row in the list. */
type Shown = { next: number; readonly requests: DemoRequest[]; listed: ConversationListView };

async function showNews(context: CliContext, conversation: Conversation, shown: Shown): Promise<void> {
  const { dim } = context.style;
  for await (const recorded of conversation.events(shown.next)) {
    if (isHole(recorded)) continue;
    const { event, revision } = recorded;
    shown.next = revision + 1;
    shown.listed = conversationList.apply(shown.listed, recorded);
    if (event.type === "InferenceRequested") {
      const request = await requestAt(conversation, revision);
      say(context, requestLine(context, request, shown.requests.push(request)));
    } else if (event.type === "ToolStarted") {
      say(context, dim(`       tool ${event.data.name}`));
    } else if (event.type === "ServerConversationChanged") {
      say(context, dim(`       ${objectWords(event.data)}`));
    }
  }
}

async function requestAt(conversation: Conversation, revision: number): Promise<DemoRequest> {
  const { decision, bytes, fullBytes, blocks, brokenBy } = await conversation.why(revision);
  const { strategy, reason, sendFrom } = decision;
  const about = { revision, strategy, reason, bytes, blocks, brokenBy };
  return { ...about, fullBytes: fullBytes ?? bytes, blocksSent: blocks - sendFrom };
}

/** What happened to the server's object before a request. */
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
  const why =
    brokenBy === null ? describeRequestReason(reason ?? "") : `${describeDivergence(brokenBy)} (${brokenBy.block})`;
  return `  ${String(number).padStart(2)}   ${colour(strategy.padEnd(7))} ${size}  ${why}`.trimEnd();
}
