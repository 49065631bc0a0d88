import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export type OneFile = {
  /** The folder of the built page. */
  readonly folder: string;
  /** The lines of a bundle. */
  readonly lines: AsyncIterable<string>;
  readonly title: string;
  /** What the page says of where it came from. */
  readonly address: string;
  readonly isRedacted: boolean;
};

/** The beginning of every such file. */
export const pageBegin = "<!doctype html><!-- a page of turnlog -->";

/** The page, its handler and the data in one HTML file, which opens from disk and makes no requests. */
export async function pageInOneFile({ folder, lines, title, address, isRedacted }: OneFile): Promise<string> {
  const style = await readFile(join(folder, "page.css"), "utf8");
  const parts: string[] = [];
  for await (const line of lines) parts.push(line);
  const text = parts.join("");
  const handler = inlined(await handlerScript(folder, text));
  const script = inlined(await readFile(join(folder, "page.js"), "utf8"));
  const data = gzipSync(text, { level: 9 }).toString("base64");
  const policy = [
    ...[
      "default-src 'none'",
      `script-src '${digestOf(handler)}' '${digestOf(script)}'`,
      "style-src 'unsafe-inline'",
      "img-src data:",
    ],
    ...["base-uri 'none'", "form-action 'none'"],
  ];
  return [
    `${pageBegin}<html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">',
    `<title>${escaped(title)}</title><style>${style}</style></head><body><div id="app"></div>`,
    `<script type="text/plain" id="turnlog-data" data-address="${escaped(address)}" data-redacted="${isRedacted ? "yes" : "no"}">${data}</script>`,
    `<script>${handler}</script>`,
    `<script type="module">${script}</script></body></html>\n`,
  ].join("\n");
}

/** The handler, with the codecs that the conversations were sent with, as the script of a page. */
async function handlerScript(folder: string, lines: string): Promise<string> {
  const inline = join(folder, "inline");
  // The build writes the names of each file's codecs.
  const names = JSON.parse(await readFile(join(folder, "codecs.json"), "utf8")) as Readonly<
    Record<string, readonly string[]>
  >;
  const isNeeded = (file: string): boolean => names[file]?.some((name) => lines.includes(name)) ?? true;
  const files = (await readdir(inline)).filter((file) => file.endsWith(".js") && isNeeded(file)).toSorted();
  const modules: string[] = [];
  for (const file of files)
    modules.push(`"./${file}":(exports,require,module)=>{${await readFile(join(inline, file), "utf8")}\n}`);
  const codecs = files.filter((file) => file in names).map((file) => `...need("./${file}").codecs`);
  return [
    `const given={${modules.join(",\n")}},made={};`,
    "const need=(name)=>{if(!made[name]){const module=made[name]={exports:{}};given[name](module.exports,need,module)}return made[name].exports};",
    `globalThis.turnlogHandler=need("./offline.js");turnlogHandler.addCodecs([${codecs.join(",")}]);`,
  ].join("\n");
}

/** Nothing in a script may end its element. */
const inlined = (script: string): string => script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");

const digestOf = (script: string): string => `sha256-${createHash("sha256").update(script).digest("base64")}`;

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
