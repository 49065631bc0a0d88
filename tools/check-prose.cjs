// Documents, titles of tests and comments name the actor, use a verb, and say the field's term. The phrases below do not: no honest sentence needs one.
const { existsSync, readdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const forbidden = [
  ...["for what is no", "that is none", "that are none", "which is none", "is none of", "are none of"],
  ...["nobody knows", "whoever", "is told of", "are told", "asks to be told", "tells of"],
  ...["stands beside", "stand beside", "stands behind", "stands before", "stands outside", "stand outside"],
  ...["stands within", "stands there", "stands in the log", "stands for itself", "stand for themselves"],
  ...["gone on with", "gone on from", "gone on in", "to be had", "nothing becomes of", "is a courtesy"],
  ...["is asked otherwise", "knows no difference", "its own word", "as one likes", "of one's own"],
];

/** A phrase as it may be broken over two lines, of a comment too; `there are none of these` is plain English. */
const pattern = new RegExp(
  `(?<![\\w-]|\\bthere\\s)(?:${forbidden.map((phrase) => phrase.replaceAll(" ", "[\\s*/]+")).join("|")})(?![\\w-])`,
  "gi",
);

// Titles of tests, given to `test`, to `describe`, or to what their `each` returns.
const title =
  /(?:\b(?:test|describe)(?:\.(?:skip|only|fails|concurrent|sequential))?|\))\(\s*(["`])((?:\\.|(?!\1)[^\\])*)\1\s*,/g;
/** Everything but titles is blank, so that places stay what they are. */
function titlesOf(text) {
  const blank = (other) => other.replace(/[^\n]/g, " ");
  let read = "";
  for (const { 0: whole, 2: words, index } of text.matchAll(title)) {
    const begin = index + whole.lastIndexOf(words);
    read += blank(text.slice(read.length, begin)) + words;
  }
  return read;
}

const commentLine = /^\s*(\/?\*|\/\/)/;
const commentsOf = (text) => text.replace(/^.*$/gm, (line) => (commentLine.test(line) ? line : ""));

function found(path, text) {
  return [...text.matchAll(pattern)].map(({ 0: phrase, index }) => {
    const line = text.slice(0, index).split("\n").length;
    return `${path}:${line} says "${phrase.replace(/[\s*/]+/g, " ")}": name the actor, and use a verb and the field's term`;
  });
}

/** Does not enter packages, nor the folders that tests make for the length of a test and that may be gone before they are read. */
const isPassing = (name) => name === "node_modules" || /^(code|readme)-/.test(name);

const documents = [
  "README.md",
  ...filesIn("packages", ".md"),
  ...filesIn("docs", ".md").filter((path) => !path.startsWith(join("docs", "decisions"))),
];
const sources = ["src", "packages", "test"].flatMap((folder) => filesIn(folder, ".ts"));

function filesIn(folder, ending) {
  if (!existsSync(folder)) return [];
  const inside = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return isPassing(entry.name) ? [] : filesIn(path, ending);
    return entry.isFile() && entry.name.endsWith(ending) ? [path] : [];
  });
  return inside.toSorted();
}

const lines = [
  ...documents.flatMap((path) => found(path, readFileSync(path, "utf8"))),
  ...filesIn("test", ".ts").flatMap((path) => found(path, titlesOf(readFileSync(path, "utf8")))),
  ...sources.flatMap((path) => found(path, commentsOf(readFileSync(path, "utf8")))),
];
for (const line of lines) console.error(line);
process.exitCode = lines.length === 0 ? 0 : 1;
