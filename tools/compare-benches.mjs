/**
 * Runs the bench of two versions of turnlog by turns and prints the medians of every figure beside each other:
 *
 *     node tools/compare-benches.mjs BEFORE [--after .] [--rounds 5] PART…
 *
 * Both are checkouts with their own node_modules; a PART is one of `npm run bench`, and each is run for itself. Figures
 * are paired by their names, those that were renamed by their order. A machine's mood changes within minutes, so a round runs both
 * versions, one directly after the other, and every second round begins with the other one.
 */
import { execFileSync } from "node:child_process";
import { delimiter, join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "5" }, after: { type: "string", default: "." } },
});
const [before, ...parts] = positionals;
const rounds = Number(values.rounds);
if (before === undefined || parts.length === 0 || !(rounds >= 1)) {
  console.error("usage: node tools/compare-benches.mjs BEFORE [--after .] [--rounds 5] PART…");
  process.exit(2);
}
const trees = [resolve(before), resolve(values.after)];

for (const part of parts) {
  const figures = [new Map(), new Map()];
  for (let round = 0; round < rounds; round += 1)
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0])
      for (const { name, value, unit, kind } of measured(trees[at], part)) {
        const figure = figures[at].get(name) ?? { unit, kind, all: [] };
        figures[at].set(name, figure);
        figure.all.push(value);
      }
  for (const [left, right] of paired(...figures)) print(left, right);
}

function measured(tree, part) {
  const env = { ...process.env, PATH: [join(tree, "node_modules/.bin"), process.env.PATH].join(delimiter) };
  const printed = execFileSync("node", ["bench/run.ts", "--json", part], { cwd: tree, env, maxBuffer: 2 ** 26 });
  return JSON.parse(printed.toString().trimEnd().split("\n").at(-1)).data.rows;
}

/** The figures of two versions by name, and what is left on both sides by order, if it is as many. */
function paired(left, right) {
  const named = [...right]
    .filter(([name]) => left.has(name))
    .map(([name, figure]) => [
      [name, left.get(name)],
      [name, figure],
    ]);
  const [gone, come] = [
    [left, right],
    [right, left],
  ].map(([these, those]) => [...these].filter(([name]) => !those.has(name)));
  if (gone.length === come.length) return [...named, ...gone.map((each, at) => [each, come[at]])];
  for (const [name] of [...gone, ...come]) console.log(`       one version only: ${name}`);
  return named;
}

function print([, old], [name, now]) {
  const [was, is] = [median(old.all), median(now.all)];
  // Of a figure without a bound it is not known which direction is better.
  const change = (is / was - 1) * (now.kind === "at least" ? -1 : 1);
  const [worse, better] = now.kind === undefined ? ["more", "less"] : ["WORSE", "better"];
  const verdict = change > 0.1 ? worse : change < -0.1 ? better : "same";
  console.log(
    `${verdict.padEnd(7)}${name}: ${rounded(was)} to ${rounded(is)} ${now.unit} (${spread(old.all)}; ${spread(now.all)})`,
  );
}

function median(all) {
  const sorted = all.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function spread(all) {
  return `${rounded(Math.min(...all))} to ${rounded(Math.max(...all))}`;
}

function rounded(value) {
  return Number(value.toPrecision(3));
}
