import { type Studio, studioOver } from "../src/apps/studio/studio.ts";
import type { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { parseStored } from "./json-parse.ts";
import type { BenchRow } from "./row.ts";

/** How many steps are taken in each direction, and how many revisions are looked at in no order. */
const [steps, jumps] = [20, 8];

/** What the page of a conversation asks for in each view, beside the stack. */
const views = {
  stack: () => [],
  diff: (revision: number) => [`/diff?base=${revision - 1}&to=${revision}&texts=1`],
  body: (revision: number) => [`/body/${revision}?from=0&n=400`],
  blame: (revision: number) => [`/blame/${revision}?from=0&n=60`],
  time: (revision: number) => [`/time/${revision}`],
  event: (revision: number) => [`/cat/${revision}`],
  why: (revision: number) => [`/why/${revision}?from=0&n=40`],
} as const satisfies Readonly<Record<string, (revision: number) => readonly string[]>>;

/** In milliseconds of processor time, which other programs on the machine do not add to. */
type Answer = { readonly path: string; readonly ms: number; readonly kilobytes: number };

/** The studio's handler on a long conversation: its first answer, steps in both directions in each view, and what it keeps in memory. */
export async function benchHandler(store: TurnlogStore, id: string): Promise<readonly BenchRow[]> {
  const studio = studioOver({ store, access: () => true }, {});
  const conversation = `/api/c/${id}`;
  const least = await readingMs(store, `conversation-${id}`);
  const before = heapMegabytes();
  const opened = await ask(studio, conversation);
  const read = heapMegabytes() - before;
  const events = ((await store.events.head(`conversation-${id}`))?.revision ?? 0) + 1;
  const of = `${events} events`;
  const stepped: BenchRow[] = [];
  const all: Answer[] = [opened];
  for (const [view, paths] of Object.entries(views)) {
    const look = async (revision: number): Promise<number> => {
      const asked = [`/stack/${revision}?n=60`, ...paths(revision)];
      const answers: Answer[] = [];
      for (const path of asked) answers.push(await ask(studio, `${conversation}${path}`));
      all.push(...answers);
      return answers.reduce((sum, { ms }) => sum + ms, 0);
    };
    const first = await look(events - 1 - steps);
    const forwards = await timesOf(steps, (n) => look(events - steps + n));
    const backwards = await timesOf(steps, (n) => look(events - 2 - n));
    const jumped = await timesOf(jumps, (n) => look(1 + ((n * 7_919 + n * n * 104_729) % (events - 1))));
    stepped.push({
      name: `studio: a step in the view ${view} of ${of}, p95 of the slower direction`,
      ...{ value: Math.max(p95(forwards), p95(backwards)), unit: "ms", bound: 60, kind: "at most" },
      columns: {
        ...{ events, view, "first, ms": round(first) },
        ...{ "forwards, median": round(median(forwards)), "forwards, p95": round(p95(forwards)) },
        ...{ "backwards, median": round(median(backwards)), "backwards, p95": round(p95(backwards)) },
        ...{ "any revision, median": round(median(jumped)), "any revision, p95": round(p95(jumped)) },
      },
    });
  }
  for (const path of listPaths(events)) all.push(await ask(studio, `${conversation}${path}`));
  const held = heapMegabytes() - before;
  const later = all.filter((answer) => answer !== opened);
  return [
    {
      name: `studio: first answer about ${of}`,
      ...{ value: opened.ms / 1_000, unit: "s", bound: 2, kind: "at most" },
      note: `${opened.kilobytes.toFixed(0)} kB`,
    },
    {
      name: `studio: first answer about ${of}, against reading and parsing them`,
      ...{ value: opened.ms / least, unit: "x", bound: 16, kind: "at most", note: `${least.toFixed(0)} ms` },
    },
    ...stepped,
    ...answerRows(later, `an answer about ${of}`),
    {
      name: `studio: heap of the handler with ${of}`,
      ...{ value: held, unit: "MB", bound: 120, kind: "at most", note: `${read.toFixed(0)} MB after the first answer` },
    },
  ];
}

/** What no reader of a conversation can do without, in the same process and with the same load: the median of five readings. */
async function readingMs(store: TurnlogStore, stream: string): Promise<number> {
  const times = await timesOf(5, async () => {
    const from = process.cpuUsage();
    for await (const envelope of store.events.readStream(stream)) parseStored(envelope);
    return cpuMsSince(from);
  });
  return median(times);
}

/** What the page asks for beside the views: its strip, the log and jumps. */
const listPaths = (events: number): readonly string[] => [
  ...["", "/groups?from=0", "/requests?from=0", `/log?from=${events - 200}&n=200`, "/log?from=0&n=200"],
  ...["/log?f=type:request&n=500", "/log?f=signed&n=500", "/forks", "/verified"],
  ...["edit", "answer", "break", "turn", "miss"].flatMap((what) =>
    [10, events / 2, events - 1].map((revision) => `/find/${Math.floor(revision)}?what=${what}&direction=-1`),
  ),
];

/** The studio's handler on a store of many conversations: each answer twice, of which the first may catch up rows. */
export async function benchList(store: TurnlogStore, conversation: string): Promise<readonly BenchRow[]> {
  const studio = studioOver({ store, access: () => true }, {});
  const ids = Array.from({ length: 10 }, (_, n) => `cnv_${n + 100}`).join(",");
  const paths = {
    conversations: [
      "/api/conversations?n=100",
      `/api/chains?ids=${ids}`,
      `/api/bill?by=conversation&conversations=${ids}`,
    ],
    forks: [`/api/c/${conversation}/forks`, "/api/c/cnv_5/forks"],
    inbox: ["/api/inbox"],
    costs: ["/api/bill?by=layer", "/api/cache", "/api/misses"],
    audit: ["/api/audit", "/api/audit/heads?from=0&n=100"],
    search: ["/api/search?n=100&q=message"],
  } as const;
  const rows: BenchRow[] = [];
  for (const [page, asked] of Object.entries(paths)) {
    const answers: Answer[] = [];
    let first = 0;
    for (const path of asked) {
      first += (await ask(studio, path)).ms;
      const again: Answer[] = [];
      for (let n = 0; n < 5; n += 1) again.push(await ask(studio, path));
      answers.push({ path, kilobytes: again[0]?.kilobytes ?? 0, ms: median(again.map(({ ms }) => ms)) });
    }
    const [time, size] = answerRows(answers, `the page ${page} over 10,000 conversations`);
    if (time !== undefined)
      rows.push({ ...time, note: `${time.note}; the first time ${first.toFixed(0)} ms together` });
    if (size !== undefined) rows.push(size);
  }
  return rows;
}

/** The slowest and the largest of some answers. */
function answerRows(answers: readonly Answer[], what: string): readonly BenchRow[] {
  const slowest = answers.reduce((worst, each) => (each.ms > worst.ms ? each : worst));
  const largest = answers.reduce((worst, each) => (each.kilobytes > worst.kilobytes ? each : worst));
  const worst = answers.length === 1 ? "" : `, the worst of ${answers.length}`;
  return [
    {
      name: `studio: time of ${what}${answers.length > 100 ? ", p95" : worst}`,
      value: answers.length > 100 ? p95(answers.map(({ ms }) => ms)) : slowest.ms,
      ...{ unit: "ms", bound: 60, kind: "at most", note: `${slowest.path} took ${slowest.ms.toFixed(0)} ms` },
    },
    {
      name: `studio: size of ${what}${worst}`,
      ...{ value: largest.kilobytes, unit: "kB", bound: 100, kind: "at most", note: largest.path },
    },
  ];
}

async function ask(studio: Studio, path: string): Promise<Answer> {
  const from = process.cpuUsage();
  const answer = await studio.fetch(new Request(`http://studio${path}`));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${text}`);
  return { path, ms: cpuMsSince(from), kilobytes: Buffer.byteLength(text) / 1_000 };
}

function cpuMsSince(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}

async function timesOf(count: number, look: (n: number) => Promise<number>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) times.push(await look(n));
  return times;
}

function heapMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_000_000;
}

const at = (times: readonly number[], part: number): number =>
  times.toSorted((left, right) => left - right)[Math.floor((times.length - 1) * part)] ?? Number.NaN;
const median = (times: readonly number[]): number => at(times, 0.5);
const p95 = (times: readonly number[]): number => at(times, 0.95);
const round = (ms: number): number => Number(ms.toPrecision(3));
