import { hashOf } from "../../../packages/reference-server/src/ciphertext.ts";
import { type Expected, judge } from "../../../packages/reference-server/src/server.ts";
import { isJsonObject } from "../../../src/base/json.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import type { Dialect, Front } from "../dialect.ts";
import type { Speech } from "./speech.ts";
import type { Tally } from "./tally.ts";
import { type Asked, expectedLines, instructed, partsTaken, readAs, type Said } from "./truth.ts";

/** Whether a request is one for an answer. */
export const isAsked = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === "POST" && !path.includes("/conversations");

/** How a run is asked, and of whom. */
export type AskedRun = Asked & {
  readonly server: string;
  /** A part that cannot be said ends the run. */
  readonly isStrict: boolean;
};

type Judged = {
  readonly seed: number;
  readonly server: Front;
  readonly dialect: Dialect;
  readonly speech: Speech;
  readonly tally: Tally;
};

/** Looks at every request of a world once, and keeps what is wrong in its tally. */
export class WorldJudge {
  readonly #seed: number;
  readonly #server: Front;
  readonly #dialect: Dialect;
  readonly #speech: Speech;
  readonly #tally: Tally;
  /** How many requests were looked at. */
  #judged = 0;
  /** The Turn that left the last layer, which the model has to read. */
  outgoing: Turn | null = null;
  /** Whether the server was made to forget something: then it may refuse what names that. */
  hasForgotten = false;

  constructor({ seed, server, dialect, speech, tally }: Judged) {
    this.#seed = seed;
    this.#server = server;
    this.#dialect = dialect;
    this.#speech = speech;
    this.#tally = tally;
  }

  blame(what: string): void {
    this.#tally.incoherent.push(`seed ${this.#seed}: ${what}`);
  }

  /** @param warmUp - How many requests came before it, what anybody had heard by then, and what it says of itself. */
  judgeWarmUp({
    before,
    heard,
    status,
  }: {
    readonly before: number;
    readonly heard: ReadonlySet<string>;
    readonly status: string;
  }): void {
    const { requests } = this.#server;
    for (; this.#judged < requests.length; this.#judged += 1) {
      const request = requests[this.#judged];
      if (request === undefined) continue;
      const { bodyText, hasFaultFired, body } = request;
      const isWarmUp = this.#judged >= before && isJsonObject(body) && body["generate"] === false;
      if (!isWarmUp) this.blame(`request ${this.#judged} is no warm-up`);
      const unheard = bodyText.match(/n\d+x/g)?.find((nonce) => !heard.has(nonce));
      if (unheard !== undefined) this.blame(`a warm-up says ${unheard}, which nobody has handed on`);
      if (hasFaultFired) this.#tally.faulty += 1;
      else if (request.status === 200) {
        if (status !== "warm") this.blame(`a warm-up that was answered is ${status}`);
      } else if (this.#isLawfulRefusal(request)) this.#tally.lost += 1;
      else this.blame(`a warm-up was refused: ${request.status} ${bodyText.slice(0, 2000)}`);
    }
  }

  judgeNew(asked: AskedRun, tools: readonly Expected[]): void {
    const { requests } = this.#server;
    for (; this.#judged < requests.length; this.#judged += 1) {
      const request = requests[this.#judged];
      if (request === undefined || !isAsked(request)) continue;
      if (request.hasFaultFired) {
        this.#tally.faulty += 1;
        continue;
      }
      this.#tally.requests += 1;
      if (request.status !== 200) {
        if (this.#isLawfulRefusal(request)) this.#tally.lost += 1;
        else this.blame(`request ${this.#judged} was refused: ${request.status} ${request.bodyText.slice(0, 2000)}`);
        continue;
      }
      const lines = this.#server.lines(this.#judged);
      // Of two blocks with one content, a server may hold the first, and have been sent a stand-in of the second.
      const left = [...(lines ?? [])];
      const isHeld = (text: string): boolean => {
        const hashes = readAs(text, this.#dialect).map(hashOf);
        const at = left.findIndex((line) => hashes.some((hash) => line.endsWith(hash)));
        if (at >= 0) left.splice(at, 1);
        return at >= 0;
      };
      const isRead = (text: string): boolean => lines?.some((line) => line.endsWith(hashOf(text))) === true;
      const said = (this.outgoing?.blocks ?? []).map((block) => this.#speech.asHeldBy(block, { isHeld, isRead }));
      const unknown = said.indexOf(null);
      if (this.#speech.saysGone(request.bodyText)) this.blame(`request ${this.#judged} says what was erased`);
      if (request.bodyText.includes("[erased]")) this.#tally.standIns += 1;
      if (lines === undefined || unknown >= 0) {
        this.blame(`request ${this.#judged} has no reading, or block ${unknown} of its Turn was never said`);
        continue;
      }
      const mayLackHosted = this.#dialect.hasIds && this.#speech.hostedMayBeMissing;
      // Where a hosted item cannot be sent, the reasoning that led to it goes with it.
      const mayLackReasoning =
        mayLackHosted || this.#speech.reasoningMayBeMissing || this.#dialect.leavesReasoning === true;
      const known = said.filter((one) => one !== null).map((one) => this.#asHeard(one));
      const isApart = this.#dialect.systemStandsFirst === true;
      const { instructions, rest } = instructed(known, isApart ? { ...asked, systemAs: "input" } : asked);
      const endpoint = { wire: this.#dialect, server: asked.server, isRead };
      // What this wire had no form for is not held by a server that was sent it before the erasure, and may be by another.
      const before = rest.map((one) => one.before ?? one);
      const wasOmitted = before.map((_, index) => partsTaken(before, index, endpoint) === null);
      const options = isContinued(request.body) ? leftOutOf(rest, wasOmitted) : [rest];
      const losses = this.#losses(known, asked);
      if (losses.parts > 0) this.#tally.omitted += 1;
      if (losses.files > 0) this.#tally.elsewhere += 1;
      if (asked.isStrict && losses.parts > 0 && !isContinued(request.body))
        this.blame(`request ${this.#judged} lacks parts without which it should not have been sent`);
      if (request.bodyText.includes("which was not there before:]")) this.#tally.toldLate += 1;
      if (known.some(({ text }) => this.#speech.isNote(text))) this.#tally.interrupted += 1;
      if (rest.length < known.length) this.#tally.instructed += 1;
      const isCompared = (line: string): boolean => !mayLackHosted || !line.includes("web_search_call");
      const judged = (of: readonly Said[]) =>
        judge(expectedLines(of, { instructions, tools }, endpoint).filter(isCompared), lines.filter(isCompared), {
          reasoning: mayLackReasoning ? "subset" : "exact",
        });
      const judgement = judged(rest);
      if (!judgement.coherent && !options.some((each) => judged(each).coherent))
        this.blame(`request ${this.#judged}: ${judgement.summary}`);
    }
  }

  /** A run ended before it sent anything because of a part: there has to be one that cannot be said. */
  judgeRefusal(asked: AskedRun): void {
    const said = (this.outgoing?.blocks ?? []).map((block) => this.#speech.saidOf(block)).filter((one) => one !== null);
    this.#tally.refused += 1;
    if (!asked.isStrict) this.blame("a run ended for a part that was to be left out");
    else if (this.#losses(said, asked).parts === 0) this.blame("a run ended for a part, and every part can be said");
  }

  /** How many parts are not said to this server, and how many of them are files that another one keeps. */
  #losses(said: readonly Said[], { server }: AskedRun) {
    const count = (wire: Dialect | Pick<Dialect, "hasIds" | "resultsStandTogether">): number =>
      said
        .map(({ text, shows }, index) => {
          const taken = partsTaken(said, index, { wire, server });
          return shows.length === 0 ? 0 : shows.length + (text === "" ? 0 : 1) - (taken?.length ?? 0);
        })
        .reduce((sum, each) => sum + each, 0);
    return { parts: count(this.#dialect), files: count({ hasIds: false, resultsStandTogether: false }) };
  }

  /** What the model can read of it. */
  #asHeard(one: Said): Said {
    return this.#dialect.hasPhases ? one : { ...one, phase: undefined };
  }

  /** What was forgotten is refused once, and answered by sending more. */
  #isLawfulRefusal({ status, body }: { readonly status: number; readonly body: unknown }): boolean {
    const isChained = isJsonObject(body) && typeof body["previous_response_id"] === "string";
    if (status === 404) this.#speech.hostedMayBeMissing = true;
    // The log does not know an exchange that was skipped. If it was the newest of a thread or of a connection, the server refuses to
    // continue from before it, and the engine sends the whole Turn.
    const isOfThread = isJsonObject(body) && isJsonObject(body["thread"]) && body["thread"]["type"] === "continue";
    if (status === 400 && (isOfThread || isChained) && this.#speech.hasSkips) return true;
    return this.hasForgotten && (status === 404 || (status === 400 && isChained));
  }
}

/** What may have been said: each stand-in whose content was omitted is there or not. */
function leftOutOf(said: readonly Said[], wasOmitted: readonly boolean[]): readonly (readonly Said[])[] {
  let options: readonly (readonly Said[])[] = [[]];
  for (const [index, one] of said.entries()) {
    const may = one.before !== undefined && wasOmitted[index] === true;
    options = options.flatMap((each) => [[...each, one], ...(may ? [[...each, { ...one, isLeftOut: true }]] : [])]);
  }
  return options;
}

/** Whether a request goes on from what a server holds. */
const isContinued = (body: unknown): boolean =>
  isJsonObject(body) && continuing.some((name) => body[name] !== undefined && body[name] !== null);

const continuing = ["previous_response_id", "conversation", "previous_interaction_id", "thread"] as const;
