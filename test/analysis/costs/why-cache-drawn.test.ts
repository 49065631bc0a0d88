import { expect, test } from "vitest";
import { cachedProviders, cachedWorld } from "../../support/caching/cached-world.ts";
import { authorName, drawnLayers, type Judged } from "../../support/caching/drawn-layers.ts";
import { isTelling, seeds } from "../../support/cases.ts";

const changes: ReadonlySet<string> = new Set(["changed", "tools-changed", "setting-changed"]);

/** What is wrong about a verdict; null if nothing is. */
function problemOf({ cache, truth, authors }: Judged): string | null {
  if (cache.cause !== truth.reason) return `${cache.cause}, and the server says ${truth.reason}`;
  if ((cache.unit?.path ?? null) !== (truth.differs?.path ?? null))
    return `it differs from ${cache.unit?.path} on, and the server says ${truth.differs?.path}`;
  const { prompt, read } = truth.tokens;
  // Gemini does not report that it read nothing.
  if (cache.tokens?.input !== prompt || (cache.tokens.read ?? 0) !== read)
    return `told ${JSON.stringify(cache.tokens)} of ${prompt} tokens, ${read} read`;
  const author = authorName(cache.author);
  if (!changes.has(truth.reason)) return cache.author === null ? null : `blamed ${author} though nothing changed`;
  return authors.has(author) ? null : `blamed ${author}, and it was ${[...authors].join(" or ")}`;
}

/** What is wrong about what the server said of the prompt, as `why` shows it, by the server's own verdict; null if nothing is. */
function saidProblemOf({ cache: { serverSays, against }, truth: { reason } }: Judged): string | null {
  if (serverSays === null) return reason === "first" ? null : "the server said nothing";
  const { says, agrees } = serverSays;
  if (agrees === false) return `turnlog does not find that ${serverSays.reason ?? "nothing"} has changed`;
  // The server's verdict is about the request that shares most, and what it says is about the newest answer.
  if (serverSays.against?.inferenceId !== against?.inferenceId) return null;
  const expected = changes.has(reason) ? "changed" : reason === "read" ? "same" : says;
  return says === expected ? null : `it said ${says}, and its verdict is ${reason}`;
}

/** Whether the estimate of what two prompts share is near the truth: an estimate from bytes may be off by 15 %. */
const isNear = ({ cache: { shared }, truth: { tokens } }: Judged): boolean =>
  Math.abs((shared?.tokens ?? 0) - tokens.shared) <= Math.max(16, tokens.shared * 0.15);

test.each(Object.entries(cachedProviders))(
  "%s: the cause of each request is the server's, and the author of a change is the one who made it",
  { timeout: 3_600_000 },
  async (name, wire) => {
    const met = new Map<string, number>();
    const note = (what: string): unknown => met.set(what, (met.get(what) ?? 0) + 1);
    const wrong: string[] = [];
    for (const seed of seeds(4, 120, 12)) {
      await using world = await cachedWorld(wire);
      for (const [n, judged] of (await drawnLayers(world, wire, { seed, requests: 12 })).entries()) {
        const { cache, truth, authors, drawn } = judged;
        const problem = problemOf(judged);
        const said = wire.front === "responses" || wire.front === "messages" ? saidProblemOf(judged) : null;
        if (said !== null) wrong.push(`seed ${seed}, request ${n} (${drawn}): ${said}`);
        if (cache.serverSays !== null) note(cache.serverSays.agrees === true ? "agreed" : "not compared");
        if (problem !== null) wrong.push(`seed ${seed}, request ${n} (${drawn}): ${problem}`);
        note("requests");
        note(truth.reason);
        if (isNear(judged)) note("estimates near");
        if (truth.reason === "changed" && cache.divergence !== null) {
          note("planned");
          if (judged.planned !== null) note(authors.has(judged.planned) ? "planned right" : "planned wrong");
        }
        if (changes.has(truth.reason)) note(`by ${authorName(cache.author)}`);
        if (changes.has(truth.reason) && authors.size === 1) note("one author");
      }
      const { requests, agreed, disagreed } = (await world.store.cache()).serverSays;
      met.set("rows said", (met.get("rows said") ?? 0) + requests);
      met.set("rows agreed", (met.get("rows agreed") ?? 0) + agreed);
      met.set("rows disagreed", (met.get("rows disagreed") ?? 0) + disagreed);
    }
    console.info(`cache of ${name}: ${[...met].map((each) => each.join(" ")).join(", ")}`);
    const count = (what: string): number => met.get(what) ?? 0;
    expect(wrong.slice(0, 8)).toEqual([]);
    expect(count("estimates near")).toBeGreaterThanOrEqual(count("requests") * 0.95);
    // Planning compares with fewer requests, and then concludes nothing.
    expect(count("planned wrong")).toBe(0);
    expect(count("planned right")).toBeGreaterThanOrEqual(count("planned") * 0.9);
    expect([count("rows disagreed"), count("rows said")]).toEqual([0, count("agreed") + count("not compared")]);
    if (!isTelling) return;
    expect(["read", "changed", "expired", "by settings"].filter((what) => count(what) === 0)).toEqual([]);
    expect(count("one author")).toBeGreaterThan(12);
    if (wire.front === "responses" || wire.front === "messages")
      for (const what of ["agreed", "rows agreed"])
        expect([what, count(what) > count("rows said") * 0.7]).toEqual([what, true]);
  },
);
