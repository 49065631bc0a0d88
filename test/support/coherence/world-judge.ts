import { isJsonObject } from "../../../src/base/json.ts";
import type { Turn } from "../../../src/domain/turn.ts";
import { type Expected, judge } from "../../../src/reference-server/server.ts";
import type { Dialect, Front } from "../dialect.ts";
import type { Speech } from "./speech.ts";
import type { Tally } from "./tally.ts";
import { type Asked, expectedLines, instructed, type Said } from "./truth.ts";

/** Whether a request is one for an answer. */
export const isAsked = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === "POST" && !path.includes("/conversations");

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

  judgeNew(asked: Asked, tools: readonly Expected[]): void {
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
      const said = (this.outgoing?.blocks ?? []).map((block) => this.#speech.saidOf(block));
      const unknown = said.indexOf(null);
      if (lines === undefined || unknown >= 0) {
        this.blame(`request ${this.#judged} has no reading, or block ${unknown} of its Turn was never said`);
        continue;
      }
      const known = said.filter((one) => one !== null).map((one) => this.#asHeard(one));
      const isApart = this.#dialect.systemStandsFirst === true;
      const { instructions, rest } = instructed(known, isApart ? { ...asked, systemAs: "input" } : asked);
      const expected = expectedLines(rest, { instructions, tools }, this.#dialect);
      if (rest.length < known.length) this.#tally.instructed += 1;
      const mayLackHosted = this.#dialect.hasIds && this.#speech.hostedMayBeMissing;
      const isCompared = (line: string): boolean => !mayLackHosted || !line.includes("web_search_call");
      // Where a hosted item cannot be sent, the reasoning that led to it goes with it.
      const judgement = judge(expected.filter(isCompared), lines.filter(isCompared), {
        reasoning: mayLackHosted || this.#dialect.leavesReasoning === true ? "subset" : "exact",
      });
      if (!judgement.coherent) this.blame(`request ${this.#judged}: ${judgement.summary}`);
    }
  }

  /** What the model can read of it. */
  #asHeard(one: Said): Said {
    return this.#dialect.hasPhases ? one : { ...one, phase: undefined };
  }

  /** What was forgotten is refused once, and answered by sending more. */
  #isLawfulRefusal({ status, body }: { readonly status: number; readonly body: unknown }): boolean {
    const isChained = isJsonObject(body) && typeof body["previous_response_id"] === "string";
    if (status === 404) this.#speech.hostedMayBeMissing = true;
    return this.hasForgotten && (status === 404 || (status === 400 && isChained));
  }
}
