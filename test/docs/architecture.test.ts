import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import floors from "../../tools/floors.json" with { type: "json" };

const root = resolve(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/ARCHITECTURE.md"), "utf8");

const sectionOf = (heading: string): string =>
  text.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? "";

/** The cells of the rows of a section's table, without its head. */
const rowsOf = (heading: string): readonly (readonly string[])[] =>
  sectionOf(heading)
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));

const codeIn = (part: string): readonly string[] => [...part.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);

const topOf = (room: string): string => room.split("/")[0] ?? room;
const topFolders = [...new Set(floors.flat().map(topOf))].toSorted();

const sources = globSync("{src,packages/*/src}/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));

/** A folder that lost all of its files to others is still there in a checkout of that time. */
const isThere = (path: string): boolean =>
  existsSync(path) && (!statSync(path).isDirectory() || readdirSync(path).length > 0);

test("the table has every room of the checked list on its floor, what belongs there and what does not", () => {
  const rooms: string[] = [];
  let folder = "";
  for (const [floor = "", name = "", belongs = "", doesNot = ""] of rowsOf("Rooms")) {
    const [room = ""] = codeIn(name);
    const isTop = name.startsWith("**");
    if (isTop) folder = room;
    const path = isTop ? room : `${folder}/${room}`;
    const isDescribed = belongs !== "" && doesNot !== "";
    if (floor !== "") rooms.push(`${path} on ${floor}${isDescribed ? "" : ", not described"}`);
  }
  const checked = floors.flatMap((names, index) => names.map((name) => `${name} on ${index + 1}`));
  expect(rooms.toSorted()).toEqual(checked.toSorted());
});

/** The lines of the picture, from the ground up, with the folders that each of them draws. */
const drawn = [...sectionOf("The map of `src`").matchAll(/^ {1,2}(\d+) {2}(.*?)(?: {4,}.*)?$/gm)]
  .map(([, line, names = ""]) => ({ line: Number(line), folders: names.split(/ +/) }))
  .toReversed();

test("the picture draws every folder of src once, and every package below them", () => {
  const inSource = sources.filter((file) => file.startsWith("src/")).map((file) => file.split("/")[1]);
  expect([...new Set(inSource)].toSorted()).toEqual(topFolders);
  expect(drawn.map(({ line }) => line)).toEqual(drawn.map((_, index) => index + 1));
  expect(drawn.flatMap(({ folders }) => folders).toSorted()).toEqual(topFolders);

  const [, below = ""] = /^ {2}1 {2}.*?\n(.*?)```/ms.exec(text) ?? [];
  const packages = readdirSync(join(root, "packages")).map((name) => `packages/${name}`);
  expect(below.trim().split(/ {4,}.*\n?/)).toEqual([...packages, ""]);
});

test("no line of the picture has a room as high as one of the next line, so none may import from above", () => {
  const lines = drawn.map(({ line, folders }) => {
    const own = floors.flatMap((names, index) => (names.some((name) => folders.includes(topOf(name))) ? [index] : []));
    return { line, lowest: Math.min(...own), highest: Math.max(...own) };
  });
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.filter(({ highest }, index) => highest >= (lines[index + 1]?.lowest ?? floors.length))).toEqual([]);
});

/** What the page has as code, but for the picture. */
const code = codeIn(text.replace(/^```.*?^```$/gms, ""));

test("every file and folder that it names is there", () => {
  const paths = code.filter((named) => /^(src|test|tools|packages|studio|examples|\.ci)\//.test(named));
  expect(paths.length).toBeGreaterThan(60);
  // `src/stores/<name>` is one to come, and options may follow a file.
  expect(paths.filter((path) => !isThere(join(root, path.replace(/(?<=\/)<.*| .*/, ""))))).toEqual([]);
});

test("so is every room that it names without src, and every file that it names without its folder", () => {
  const rooms = code
    .filter((named) => named.includes("/") && topFolders.includes(topOf(named)))
    .flatMap((named) => {
      const [, before = "", names] = /^(.*)\{(.*)\}$/.exec(named) ?? [];
      return names === undefined ? [named] : names.split(",").map((name) => `${before}${name}`);
    });
  expect(rooms.length).toBeGreaterThan(10);
  expect(rooms.filter((room) => !isThere(join(root, "src", room)))).toEqual([]);

  const files = code.filter((named) => /^[\w-]+\.ts$/.test(named));
  const known = new Set(sources.map((file) => basename(file)));
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !known.has(file))).toEqual([]);

  const endings = code.filter((named) => /^\.[\w.]+\.test\.ts$/.test(named));
  const projects = readFileSync(join(root, "vitest.config.ts"), "utf8");
  expect(endings.length).toBeGreaterThan(3);
  expect(endings.filter((ending) => !projects.includes(`*${ending}`))).toEqual([]);
});

test.each([
  ["an event", "src/domain/events"],
  ["a wire (model API)", "src/providers/<name>"],
  ["a question to a log", "src/analysis"],
  ["a command", "src/apps/cli/commands"],
  ["a framework's hook", "src/integrations/<name>"],
])("the first 60 lines say where to add %s", (what, folder) => {
  const first = text.split("\n").slice(0, 60);
  expect(first).toContain("## Where does it go?");
  expect(first.filter((line) => line.startsWith(`| ${what} | \`${folder}\``)).length).toBe(1);
});

test("for everything to add there is a file to begin at, and what comes with it", () => {
  const rows = rowsOf("Where does it go?");
  expect(rows.length).toBeGreaterThan(10);
  const lacking = rows.filter(([, folder = "", begin = "", others = ""]) => {
    const [within = ""] = codeIn(folder);
    const [file = "missing"] = codeIn(begin);
    return others === "" || !isThere(join(root, file.includes("/") ? file : join(within, file)));
  });
  expect(lacking).toEqual([]);
});

const configSchema = z.object({ default: z.object({ forbidden: z.array(z.object({ name: z.string() })) }) });

test("every rule that it names is one of the checks", async () => {
  const config: unknown = await import(join(root, ".dependency-cruiser.js"));
  const rules = configSchema.parse(config).default.forbidden.map(({ name }) => name);
  const named = rowsOf("Rules of the checks").flatMap(([names = ""]) => codeIn(names));
  expect(named.length).toBeGreaterThan(10);
  // `<room>-imports-down-only` is a rule for each room.
  expect(named.filter((name) => !rules.includes(name.replace("<room>", "base")))).toEqual([]);
});

test("it has at most 20,000 bytes", () => {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20_000);
});
