import { type Expected, expectedReading } from "../../../packages/reference-server/src/server.ts";
import type { Entry, Part, Role } from "../../../src/testing/rehearsal/entries.ts";
import { expectedOf, type Expected as Told } from "../../../src/testing/rehearsal/expected.ts";
import { withoutElsewhere } from "../../../src/testing/rehearsal/read-otherwise.ts";

/** A response of the model, by the number that the test gave it, and an item's place among its items. */
type Group = { readonly response: number; readonly index: number; readonly size: number };

/**
 * One thing that was said, as the test made it: the source of what a model is meant to read. It is found by the nonce in
 * its text, never read out of turnlog's own blocks.
 */
export type Said = {
  readonly kind: "user" | "system" | "developer" | "assistant" | "reasoning" | "call" | "result" | "hosted";
  readonly text: string;
  /** What a message shows behind its text. */
  readonly shows: readonly Part[];
  readonly phase?: "commentary" | "final_answer" | undefined;
  readonly name?: string;
  readonly callId?: string;
  /** Lost by an edit: the model did not say that. */
  readonly group: Group | null;
  /** The server that the model said it at. */
  readonly server?: string | undefined;
  /** Its response was not whole. */
  readonly isCutOff?: boolean;
  /** How a message about its late result quotes a call that the server holds and that was erased since. */
  readonly quotedAs?: string;
  /** Of a stand-in: what was erased. Nothing that a server holds is that, but a message about a late result may quote it. */
  readonly before?: Said;
  /** A request may go without it, and went without: what stands around it is as if it were not there. */
  readonly isLeftOut?: boolean;
  /** A hosted item's type and id. */
  readonly hosted?: { readonly type: string; readonly id: string };
};

/** How a run is asked to say what is no message: the instructions of its provider, and where system messages go. */
export type Asked = { readonly instructions: string; readonly systemAs: "input" | "instructions" };

/** What the instructions say, and what is left for the input: system messages at the beginning may go into the former. */
export function instructed(said: readonly Said[], { instructions, systemAs }: Asked) {
  // What is left out has no words, but it stands between messages all the same.
  const first = said.findIndex((one) => !isInstruction(one));
  if (systemAs === "input" || first < 1) return { instructions, rest: said };
  const texts = [instructions, ...said.slice(0, first).map(({ text }) => text)];
  return { instructions: texts.filter((text) => text !== "").join("\n\n"), rest: said.slice(first) };
}

/** A message that may go into the instructions: it has nothing but text. */
const isInstruction = ({ kind, shows }: Said): boolean =>
  (kind === "system" || kind === "developer") && shows.length === 0;

/**
 * How the wire differs: whether items stand under ids, whether the results of an answer's calls have to stand together, what it has
 * no form for, what is read otherwise.
 */
type Wire = {
  readonly hasIds: boolean;
  readonly resultsStandTogether: boolean;
  readonly takes?: (entry: Entry) => Entry | null;
  readonly reads?: (said: readonly Told[]) => readonly Told[];
};

/** The wire, and which of the servers that speak it is asked. */
export type Endpoint = {
  readonly wire: Wire;
  readonly server: string;
  /** Whether its model read a text. A message that it holds says what it said when it was sent, whatever was erased since. */
  readonly isRead?: (text: string) => boolean;
};

/** A text, and as a model reads it if a system message says it behind other messages. */
export function readAs(text: string, { reads = (said) => said }: Pick<Wire, "reads">): readonly string[] {
  const before: Told = { kind: "text", role: "user", text: "" };
  const [said] = reads([before, { kind: "text", role: "system", text }]).slice(-1);
  return said?.kind === "text" ? [text, said.text] : [text];
}

type SaidBeside = { readonly instructions: string; readonly tools: readonly Expected[] };

/** What a model is meant to read of these, under the rules of planning and shaping, told anew. */
export function expectedLines(
  said: readonly Said[],
  { instructions, tools }: SaidBeside,
  endpoint: Endpoint,
): readonly string[] {
  const { reads } = endpoint.wire;
  if (reads !== undefined) {
    const heardOf = (all: readonly Said[]): readonly Told[] => {
      const heard: Told[] = readable(all, endpoint).filter((line) => line.kind !== "hosted");
      if (instructions !== "") heard.unshift({ kind: "text", role: "system", text: instructions, leads: 0 });
      return reads(heard);
    };
    // Reasoning of several answers may be read as one.
    const thoughts = heardOf(said).flatMap((line) => (line.kind === "reasoning" ? [line.text] : []));
    const isLeftOut = ({ kind, text }: Said): boolean =>
      kind === "reasoning" && !thoughts.some((thought) => thought.includes(text));
    return expectedReading([
      ...tools,
      ...heardOf(said.map((one) => (isLeftOut(one) ? { ...one, isLeftOut: true } : one))),
    ]);
  }
  const lines = readable(said, endpoint);
  return expectedReading([
    ...(instructions === "" ? [] : [{ kind: "instructions", text: instructions } as const]),
    ...tools,
    ...lines,
  ]);
}

type OpenCall = {
  readonly callId: string;
  readonly ordinal: number;
  readonly stretch: number;
  /** As the model said it. */
  readonly said: Said;
};

/**
 * What the user says where the answer to a call comes when others have spoken: which call it was, and what it gave. The call, or the
 * result, or both may have been erased since the message was sent.
 */
function lateText({ said: call }: OpenCall, result: Said, { isRead = () => false }: Endpoint): string {
  const calls = [call.quotedAs ?? call.text, call.text];
  const [now, ...before] = [result.text, result.before?.text ?? result.text].flatMap((output) =>
    calls.map((quoted) => told({ name: call.name ?? "", quoted, output })),
  );
  return before.find(isRead) ?? now ?? "";
}

const told = ({ name, quoted, output }: Readonly<Record<"name" | "quoted" | "output", string>>): string =>
  `[Result of your earlier call ${name}(${quoted}), which was not there before:]\n${output}`;

type Line = Told | Extract<Expected, { readonly kind: "hosted" }>;

function readable(said: readonly Said[], endpoint: Endpoint): readonly Line[] {
  const { wire, server } = endpoint;
  const intact = intactResponses(said, wire);
  const behind = said.findIndex((one) => !isInstruction(one));
  const lines: Line[] = [];
  let open: OpenCall[] = [];
  /** Calls that the model read as aborted, and nothing has answered. */
  let late: OpenCall[] = [];
  let ordinals = 0;
  let stretch = 0;
  let members: readonly Said[] = [];
  const abort = (calls: readonly OpenCall[]): void => {
    for (const { ordinal } of calls) lines.push({ kind: "result", call: ordinal, text: "aborted" });
    open = open.filter((call) => !calls.includes(call));
    late.push(...calls);
  };
  for (const [index, given] of said.entries()) {
    let one = given;
    if (one.isLeftOut === true) continue;
    // What only its own server understands is read nowhere else.
    const isOwn = one.kind === "reasoning" || one.kind === "hosted";
    if (isOwn && (!intact.has(index) || one.server !== server)) continue;
    let parts = partsTaken(said, index, { wire, server });
    // A message of which nothing can be said is as if it were not there.
    if (parts === null) continue;
    const call = one.kind === "result" ? open.findLast(({ callId }) => callId === one.callId) : undefined;
    if (one.kind === "result" && call === undefined) {
      const missed = late.findLast(({ callId }) => callId === one.callId);
      // A result that answers nothing is left out, as if it were not there.
      if (missed === undefined) continue;
      late = late.filter((each) => each !== missed);
      one = { kind: "user", text: lateText(missed, one, endpoint), shows: [], group: null };
      parts = [{ type: "text", text: one.text }];
    }
    if (call !== undefined) {
      lines.push({ kind: "result", call: call.ordinal, text: one.text });
      open = open.filter((each) => each !== call);
      if (members.at(-1)?.group === null || wire.resultsStandTogether) members = [];
      continue;
    }
    const continues = isOneStretch(members, one);
    members = continues ? [...members, one] : [one];
    if (!continues) stretch += 1;
    abort(open.filter((call) => call.stretch !== stretch));
    // The instructions stand before them.
    lines.push(...linesOf(one, parts).map((line) => (index < behind ? { ...line, leads: index + 1 } : line)));
    if (one.kind === "call") {
      open.push({ callId: one.callId ?? "", ordinal: ordinals, stretch, said: one });
      ordinals += 1;
    }
  }
  abort(open);
  return lines;
}

/**
 * Items of one response, or neighbours that no response holds together and only a model says. A second copy of an item
 * begins anew, unless it follows the item that comes before it in the response.
 */
function isOneStretch(stretch: readonly Said[], after: Said): boolean {
  const before = stretch.at(-1);
  if (before === undefined) return false;
  if (before.group === null && after.group === null) return isModels(before) && isModels(after);
  const isCopy = stretch.some(({ group }) => group?.index === after.group?.index);
  return before.group?.response === after.group?.response && (follows(before, after) || !isCopy);
}

/** Whether two neighbours follow each other in one response as they do here: nothing comes between them. */
const follows = (before: Said | undefined, after: Said | undefined): boolean =>
  before?.group != null &&
  before.group.response === after?.group?.response &&
  before.group.index + 1 === after.group.index;

const isModels = ({ kind }: Said): boolean =>
  kind === "assistant" || kind === "call" || kind === "hosted" || kind === "reasoning";

/** Places whose response is all there, in order, unbroken. */
function intactResponses(said: readonly Said[], { hasIds }: Wire): ReadonlySet<number> {
  const intact = new Set<number>();
  const seen = new Set<number>();
  for (const [start, { group }] of said.entries()) {
    if (group?.index !== 0) continue;
    const places = Array.from({ length: group.size }, (_, offset) => start + offset);
    const isWhole = places.every((place, offset) => {
      const here = said[place]?.group;
      return here?.response === group.response && here.index === offset && here.size === group.size;
    });
    if (!isWhole) continue;
    // After a copy of one of its calls that call is renamed: the response goes without ids, and a hosted item cannot.
    const isRenamed = said.slice(0, start).some((one) => one.group?.response === group.response && one.kind === "call");
    const hasHosted = places.some((place) => said[place]?.kind === "hosted");
    // A copy of a response is not the response: its items would stand twice under one id.
    const isIntact = !hasIds || (!seen.has(group.response) && !(isRenamed && hasHosted));
    if (isIntact) for (const place of places) intact.add(place);
    seen.add(group.response);
  }
  return intact;
}

const roles: readonly Role[] = ["user", "system", "developer", "assistant"];

/** The parts of a message that the wire sends to this server; null if it sends none. Nothing else has parts. */
export function partsTaken(
  said: readonly Said[],
  index: number,
  { wire: { takes = (entry) => entry }, server }: Endpoint,
): readonly Part[] | null {
  const one = said[index];
  const role = roles.find((each) => each === one?.kind);
  if (one === undefined || role === undefined) return [];
  const text: readonly Part[] = one.text === "" ? [] : [{ type: "text", text: one.text }];
  const whole: Entry = { kind: "message", role, parts: [...text, ...one.shows] };
  // A file's id is one of the server that answered first behind it, and nobody else knows that.
  const keeper = said.slice(index + 1).find((each) => each.server !== undefined)?.server ?? server;
  const kept = keeper === server ? whole : withoutElsewhere(whole);
  const taken = kept === null ? null : takes(kept);
  return taken?.kind === "message" ? taken.parts : null;
}

function linesOf(one: Said, parts: readonly Part[]): readonly Line[] {
  switch (one.kind) {
    case "reasoning":
      return [{ kind: "reasoning", text: one.text }];
    case "hosted":
      return one.hosted === undefined ? [] : [{ kind: "hosted", ...one.hosted }];
    case "call":
      return [{ kind: "call", name: one.name ?? "", arguments: one.text }];
    case "result":
      return [];
    default: {
      const { kind: role, phase } = one;
      return expectedOf([{ kind: "message", role, parts }]).map((each) => ({ ...each, phase }));
    }
  }
}
