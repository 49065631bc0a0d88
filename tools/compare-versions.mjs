/**
 * Plays the same conversations with two versions of turnlog and compares what they did: the bytes of every request, the
 * `--json` documents of the commands, and the views. Both trees have to be built (`npm run build`).
 *
 *     node tools/compare-versions.mjs BEFORE [AFTER] [--recorded FILE]
 *     node tools/compare-versions.mjs --play TREE FOLDER [--recorded FILE]
 *
 * The second form keeps what one version did in a new FOLDER, whose documents.json may stand in the place of BEFORE or AFTER.
 *
 * Ids, digests and times differ from run to run. Each is replaced by its number in the order of first appearance, so that
 * what is the same thing is the same text, and what is another thing is not. Exits with 1 where the two versions differ.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const conversations = 40;
const exchanges = 6;

// Of settings, descriptions show the beginning of a name that is another one in every conversation.
const changing =
  /\b(?:run|inf|blk|cnv|prc)_[\w-]{16,}|\b[\da-f]{64}\b|\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b|(?<=\bsettings )[\da-f]{8}\b|\d{4}-\d\d-\d\dT[\d:.]+Z/g;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { play: { type: "boolean" }, recorded: { type: "string" } },
});

if (values.play === true) await play(resolve(positionals[0]), resolve(positionals[1]));
else compare(positionals[0], positionals[1] ?? ".");

/** Prints the first difference of every document, and how many there are. */
function compare(before, after) {
  const [left, right] = [before, after].map((tree) => playedBy(resolve(tree)));
  const names = [...new Set([...left.keys(), ...right.keys()])].toSorted();
  const different = names.filter((name) => left.get(name) !== right.get(name));
  for (const name of different) console.log(`${name}: ${firstDifference(left.get(name), right.get(name))}`);
  const requests = names.filter((name) => name.startsWith("body ")).length;
  console.log(`${names.length} documents, ${requests} of them bodies of requests: ${different.length} differ`);
  process.exitCode = different.length === 0 && requests > 0 ? 0 : 1;
}

/** The documents by name, played in a process of its own. */
function playedBy(tree) {
  if (tree.endsWith(".json")) return new Map(Object.entries(JSON.parse(readFileSync(tree, "utf8"))));
  const folder = join(mkdtempSync(join(tmpdir(), "turnlog-compare-")), "played");
  const own = [import.meta.filename, "--play", tree, folder];
  if (values.recorded !== undefined) own.push("--recorded", resolve(values.recorded));
  execFileSync(process.execPath, own, { stdio: ["ignore", "inherit", "inherit"] });
  return new Map(Object.entries(JSON.parse(readFileSync(join(folder, "documents.json"), "utf8"))));
}

function firstDifference(left = "", right = "") {
  let index = 0;
  while (index < left.length && left[index] === right[index]) index += 1;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, index - 60), index + 60));
  return `at ${index} of ${left.length}\n  before ${around(left)}\n  after  ${around(right)}`;
}

/** Plays everything with the turnlog of a tree, and writes the documents into a folder. */
async function play(tree, folder) {
  mkdirSync(folder);
  const documents = {};
  const url = `sqlite:${join(folder, "generated.db")}`;
  const command = (store, ...words) => outcomeOf(tree, ["--store", store, "--json", ...words]);
  // Versions before it leave a rehearsal in the store that is named.
  const keep = outcomeOf(tree, ["rehearse", "--help"]).includes("--keep") ? ["--keep"] : [];
  for (const rate of ["0", "0.2", "0.5"]) {
    const words = ["rehearse", "--generate", "7", "--limit", "30", "--edit-rate", rate, "--reasoning", "--parallel"];
    documents[`rehearse generated ${rate}`] = normalised(
      rate === "0.2" ? command(url, ...words, ...keep) : command("memory:", ...words),
    );
    if (values.recorded !== undefined)
      documents[`rehearse recorded ${rate}`] = normalised(
        command("memory:", "rehearse", values.recorded, "--edit-rate", rate),
      );
  }
  const own = `sqlite:${join(folder, "layers.db")}`;
  for (const [name, text] of Object.entries(await playLayers(tree, own))) documents[name] = text;
  for (const store of [url, own]) readBack(documents, store, command);
  writeFileSync(join(folder, "documents.json"), JSON.stringify(documents));
}

/** What the commands tell of every conversation of a store. */
function readBack(documents, store, command) {
  const place = store.endsWith("layers.db") ? "layers" : "generated";
  const rows = JSON.parse(command(store, "ls")).data.conversations;
  const named = rows.map(({ id, title }) => [title ?? id, id]);
  documents[`${place} verify`] = normalised(command(store, "verify"));
  for (const [title, id] of named.toSorted().slice(0, 15)) {
    const log = command(store, "log", id);
    documents[`${place} log ${title}`] = normalised(log);
    for (const what of ["show", "blame", "replay"])
      documents[`${place} ${what} ${title}`] = normalised(command(store, what, id));
    documents[`${place} why ${title}`] = normalised(command(store, "why", id));
    documents[`${place} diff ${title}`] = normalised(command(store, "diff", `${id}@1`, `${id}@-1`));
    documents[`body ${place} ${title}`] = normalised(command(store, "request", id));
  }
}

/** Output and exit code of a command. */
function outcomeOf(tree, words) {
  const { bin } = JSON.parse(readFileSync(join(tree, "package.json"), "utf8"));
  const program = join(tree, bin.turnlog);
  try {
    const options = { encoding: "utf8", maxBuffer: 2 ** 28, stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync(process.execPath, [program, ...words], options);
  } catch (error) {
    return JSON.stringify({ exit: error.status, stdout: error.stdout });
  }
}

/** Conversations with layers that edit, tools, forks and reverts, against the reference server. */
async function playLayers(tree, url) {
  const turnlog = await import(join(tree, "dist/index.js"));
  const openaiResponses =
    turnlog.openaiResponses ?? (await import(join(tree, "dist/entries/responses.js"))).openaiResponses;
  const { startReferenceServer, functionCall, message } = await import(join(tree, "dist/entries/testing.js"));
  const documents = {};
  const draw = drawFrom(11);
  let asked = 0;
  const answer = () => {
    asked += 1;
    const texts = [message(`answer ${asked}`)];
    return { output: draw(3) === 0 ? [functionCall("look-up", JSON.stringify({ n: asked }))] : texts };
  };
  await using server = await startReferenceServer({ seed: "compare", maxKept: 100_000, answer });
  await using store = await turnlog.openStore(url);
  const provider = openaiResponses({ model: "compare", baseURL: server.baseUrl, apiKey: "compare" });
  const lookUp = turnlog.tool({
    name: "look-up",
    description: "Looks up.",
    inputSchema: (await import("zod")).looseObject({}),
    execute: ({ n }) => `result ${n}`,
  });
  const note = turnlog.ephemeral([turnlog.system("be brief")], { at: "start" });
  const editing = turnlog.defineMiddleware({ name: "editing", version: "1.0.0" }, (next) => async (turn) => {
    const blocks = turn.blocks.filter((block) => block.kind === "user");
    const block = blocks[draw(blocks.length)];
    const how = draw(6);
    if (block === undefined || how > 2) return next(turn);
    if (how === 0) return next(turn.replace(block, block.withText(`${block.text}!`)));
    return next(
      how === 1 && blocks.length > 1 ? turn.remove(block) : turn.insert(0, turnlog.user(`inserted ${asked}`)),
    );
  });
  for (let n = 0; n < conversations; n += 1) {
    const conversation = store.conversation(`compare-${n}`);
    const middleware = [[], [editing], [note], [editing, note]][n % 4];
    const engine = turnlog.createEngine({ provider, tools: [lookUp], middleware });
    for (let exchange = 0; exchange < exchanges; exchange += 1) {
      await conversation.append(`message ${exchange} of ${n}`);
      const result = await conversation.run(engine);
      documents[`result ${n} ${exchange}`] = normalised(
        JSON.stringify({ status: result.status, text: result.text, steps: result.steps, usage: result.usage }),
      );
      if (draw(8) === 0) await conversation.revertToExchange(0);
    }
    const past = await conversation.at(-1);
    const { blocks } = await past.content();
    const said = blocks.map((block) => [block.id, block.kind, block.role, block.text, block.name, block.arguments]);
    documents[`view ${n}`] = normalised(JSON.stringify({ said, held: past.serverContexts.length }));
  }
  for (const [index, { bodyText }] of server.requests.entries()) documents[`body ${index}`] = normalised(bodyText);
  return documents;
}

/** Whole numbers below a bound, the same for the same seed. */
function drawFrom(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return below === 0 ? 0 : (state >>> 8) % below;
  };
}

/** A document with numbers in the place of ids, digests and times; how long something took is left out. */
function normalised(text) {
  const numbers = new Map();
  const numbered = text.replace(changing, (id) => {
    if (/^\d{4}-/.test(id)) return "<time>";
    if (!numbers.has(id)) numbers.set(id, `<${numbers.size + 1}>`);
    return numbers.get(id);
  });
  return numbered
    .replace(
      /"(\w*[mM]s|pid|startedAt|host|bootId|pidNamespace|processId|createdAt|created_at|seconds)": ?[^,}\]]+/g,
      '"$1":0',
    )
    .replace(/\bin \d+(?:\.\d+)? m?s\b/g, "in 0 ms")
    .replace(/http:\/\/127\.0\.0\.1:\d+/g, "<server>")
    .replaceAll(tmpdir(), "<tmp>");
}
