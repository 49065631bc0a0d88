import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { TurnlogStore } from "../src/conversation/turnlog-store.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
import { openSqliteStore } from "../src/stores/sqlite/store.ts";
import { type Studio, studioOver } from "../src/studio/studio.ts";
import { buildPage } from "../tools/build-page.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { type BenchRow, report } from "./row.ts";
import { chat, copyStream, inFolder } from "./sample.ts";
import { benchStudioPage } from "./studio-page.ts";

/** Events of the conversations; an exchange has five. */
const sizes = [12_000, 50_000] as const;
const listed = 10_000;

/** What the studio's page weighs, and how fast its handler and the page are on long conversations and on a long list. */
export function benchStudio(): Promise<readonly BenchRow[]> {
  return inFolder(async (folder) => {
    await buildPage();
    const rows: BenchRow[] = [...weights()];
    for (const events of sizes) {
      await using store = new TurnlogStore(await openSqliteStore(join(folder, `${events}.db`)));
      const id = await fill(store, events);
      rows.push(...(await answers(store, id, events)), ...(await benchStudioPage(store, { id, events })));
    }
    await using store = new TurnlogStore(await openSqliteStore(join(folder, "list.db")));
    await fillList(store);
    const studio = studioOver({ store, access: () => true }, {});
    await timed(studio, "/api/conversations?n=100");
    rows.push(...answerRows(await timed(studio, "/api/conversations?n=100"), `a page of ${listed} conversations`));
    return rows;
  });
}

const built = join(import.meta.dirname, "../dist/studio");
const zipped = (file: string): number => gzipSync(readFileSync(join(built, file)), { level: 9 }).length / 1_000;

/** Sizes as a browser loads them. */
function weights(): readonly BenchRow[] {
  const first = ["index.html", "page.js", "page.css"].reduce((sum, file) => sum + zipped(file), 0);
  const raw = readFileSync(join(built, "offline-core.js")).length / 1_000;
  const later = readdirSync(built).filter((file) => file.endsWith(".js") && !/^(page|offline.*)\.js$/.test(file));
  const most = Math.max(...later.map(zipped));
  return [
    { name: "studio: first load, gzip", value: first, unit: "kB", bound: 60, kind: "at most" },
    {
      name: "studio: handler for a page without a server, gzip",
      ...{ value: zipped("offline-core.js"), unit: "kB", bound: 120, kind: "at most" },
      note: `loaded by need: ${later.length} files of ${most.toFixed(1)} kB at most`,
    },
    { name: "studio: the same, as it is", value: raw, unit: "kB", bound: 450, kind: "at most" },
  ];
}

async function fill(store: TurnlogStore, events: number): Promise<string> {
  const memory = new TurnlogStore(createMemoryStore());
  const conversation = memory.conversation();
  await chat(conversation, { exchanges: events / 5, bytes: 300 });
  await copyStream(memory.events, store.events, `conversation-${conversation.id}`);
  return conversation.id;
}

async function fillList(store: TurnlogStore): Promise<void> {
  const writers = 200;
  for (let first = 0; first < listed; first += writers)
    await Promise.all(
      Array.from({ length: writers }, (_, n) => store.conversation(`cnv_${first + n}`).append("A message")),
    );
}

/** In milliseconds of processor time, which other programs on the machine do not add to. */
type Answer = { readonly ms: number; readonly kilobytes: number };

async function timed(studio: Studio, path: string): Promise<Answer> {
  const from = process.cpuUsage();
  const answer = await studio.fetch(new Request(`http://studio${path}`));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${text}`);
  const { user, system } = process.cpuUsage(from);
  return { ms: (user + system) / 1_000, kilobytes: Buffer.byteLength(text) / 1_000 };
}

const answerRows = ({ ms, kilobytes }: Answer, what: string): readonly BenchRow[] => [
  { name: `studio: time of ${what}`, value: ms, unit: "ms", bound: 60, kind: "at most" },
  { name: `studio: size of ${what}`, value: kilobytes, unit: "kB", bound: 100, kind: "at most" },
];

/** The first answer, which reads the conversation, and the slowest and the largest of the others that a page asks for. */
async function answers(store: TurnlogStore, id: string, events: number): Promise<readonly BenchRow[]> {
  const studio = studioOver({ store, access: () => true }, {});
  const conversation = `/api/c/${id}`;
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const opened = await timed(studio, conversation);
  collectGarbage();
  const held = (process.memoryUsage().heapUsed - before) / 1_000_000;
  const asked: { readonly path: string; readonly answer: Answer }[] = [];
  for (const path of pathsOf(events)) asked.push({ path, answer: await timed(studio, `${conversation}${path}`) });
  const slowest = asked.reduce((worst, each) => (each.answer.ms > worst.answer.ms ? each : worst));
  const largest = asked.reduce((worst, each) => (each.answer.kilobytes > worst.answer.kilobytes ? each : worst));
  const [time, size] = answerRows(
    { ms: slowest.answer.ms, kilobytes: largest.answer.kilobytes },
    `an answer about ${events} events, the worst of ${asked.length}`,
  );
  return [
    {
      name: `studio: first answer about ${events} events`,
      ...{ value: opened.ms / 1_000, unit: "s", bound: 2, kind: "at most" },
      note: `${opened.kilobytes.toFixed(0)} kB; ${held.toFixed(0)} MB stay in memory`,
    },
    ...(time === undefined ? [] : [{ ...time, note: slowest.path }]),
    ...(size === undefined ? [] : [{ ...size, note: largest.path }]),
  ];
}

/** What a page asks for while one steps through a conversation; a body or a difference is asked for by opening its view. */
const pathsOf = (events: number): readonly string[] => [
  ...["", "/groups?from=0", "/requests?from=0", `/log?from=${events - 200}&n=200`, "/log?from=0&n=200"],
  ...[events - 3, events - 8, events / 2, 10].flatMap((revision) => [
    `/stack/${revision}?n=60`,
    `/time/${revision}`,
    `/cat/${revision}`,
    `/find/${revision}?what=answer&direction=1`,
  ]),
  "/log?f=type:request&n=200",
];

if (import.meta.main) process.exitCode = report(await benchStudio()) ? 0 : 1;
