// Neither a floor below the providers nor the words for people know the words of a wire: a codec translates them (src/engine/ports/codec.ts).
const { readdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const folders = ["src/domain", "src/projections", "src/log", "src/engine", "src/analysis/descriptions"];
const words = [
  "previous_response_id",
  "function_call",
  "function_call_output",
  "call_id",
  "encrypted_content",
  "input_text",
  "output_text",
  "max_output_tokens",
  "incomplete_details",
];
/** What a tracing service shows of a request is in words of the wires. */
const spans = "src/engine/tracing/spans";
/** The log lists members of settings by name, because of some of them it keeps the value in the facts. */
const paths = "event-paths.ts";
const pattern = new RegExp(`\\b(${words.join("|")})\\b`);

const found = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== paths && entry.parentPath !== spans)
    .flatMap(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const lines = readFileSync(path, "utf8").split("\n");
      return lines.flatMap((line, index) => {
        const word = pattern.exec(line)?.[0];
        return word === undefined ? [] : [`${path}:${index + 1} says ${word}, a word of a provider's wire`];
      });
    }),
);
for (const line of found) console.error(line);
process.exitCode = found.length === 0 ? 0 : 1;
