import { expect, test } from "vitest";
import { conversationIdSchema } from "../../../src/domain/ids.ts";
import { plainSpans, type SpanOptions } from "../../../src/engine/tracing/spans/span-options.ts";
import { otlpPieces } from "../../../src/operations/transfer/otlp.ts";
import { recordedSpans } from "../../../src/operations/transfer/recorded-spans.ts";
import { isTelling, seeds } from "../../support/cases.ts";
import { begunSpans, type ComparedSpan, exportedSpans, liveSpans } from "../../support/tracing/compared-spans.ts";
import { textOf } from "../../support/tracing/text-of.ts";
import { TracedWorld } from "../../support/tracing/traced-world.ts";

const seen: Record<string, number> = {};

test("an exported conversation has the spans that its processes traced, but for ids and times", async () => {
  for (const seed of seeds(6, 3_000, 60)) {
    const options: SpanOptions = {
      ...{ ...plainSpans, agent: "guide", hasContent: seed % 2 === 0 },
      service: ([null, "langfuse", "langsmith", "phoenix"] as const)[seed % 4] ?? null,
    };
    const { hasContent: content, service } = options;
    const world = new TracedWorld(seed, {
      ...{ agent: "guide", content, metrics: false },
      ...(service === null ? {} : { service }),
    });
    await world.play(10);
    const id = conversationIdSchema.parse(world.id);
    const spans = recordedSpans({ store: world.events }, id, options);
    const exported = exportedSpans(await textOf(otlpPieces([{ id, spans }], { service: "test" })));
    const { living = [], dead = [] } = Object.groupBy(world.processes, ({ isDead }) => (isDead ? "dead" : "living"));
    const [ofLiving, ofDead] = [living.map(({ tracer }) => tracer), dead.map(({ tracer }) => tracer)];
    const live = liveSpans(ofLiving, ofDead);
    // One that died before its first append was durable has no part in the run.
    const kept = new Set(live.map(({ part }) => part));
    const lost = new Set(begunSpans(ofDead).flatMap(({ part }) => (kept.has(part) ? [] : [part])));
    expect(live, `seed ${seed}`).toEqual(exported.filter(({ part }) => !lost.has(part)));
    // A process that dies takes the spans with it that had not ended.
    const known = new Set(exported.map((span) => JSON.stringify(span)));
    const left = liveSpans(ofDead, ofLiving).filter((span) => isFinished(span) && !known.has(JSON.stringify(span)));
    expect(left, `seed ${seed}`).toEqual([]);
    count(exported);
  }
}, 600_000);

const isFinished = ({ attributes }: ComparedSpan): boolean => attributes["turnlog.unfinished"] !== true;

function count(spans: readonly ComparedSpan[]): void {
  const note = (what: string): void => {
    seen[what] = (seen[what] ?? 0) + 1;
  };
  for (const span of spans) {
    note(span.name);
    if (span.links.length > 0) note("link");
    if (!isFinished(span)) note("unfinished");
    for (const name of ["turnlog.run.status", "turnlog.tool.outcome", "error.type"])
      if (name in span.attributes) note(`${name} ${String(span.attributes[name])}`);
  }
}

test.runIf(isTelling)("each kind of span, of end and of error was compared", () => {
  const wanted = [
    ...["chat scripted", "invoke_agent guide", "step 1", "step 2", "execute_tool refund", "execute_tool repeat"],
    ...["effect note", "effect miss", "error.type effect-failed"],
    ...["link", "unfinished", "turnlog.tool.outcome ok", "turnlog.tool.outcome error"],
    ...["completed", "failed", "cancelled", "parked"].map((status) => `turnlog.run.status ${status}`),
    ...["interrupted", "lost-state", "rate-limited", "layer-failed"].map((kind) => `error.type ${kind}`),
  ];
  expect(wanted.filter((what) => seen[what] === undefined)).toEqual([]);
});
