import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
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
  const script = inlined(await readFile(join(folder, "offline.js"), "utf8"));
  const style = await readFile(join(folder, "page.css"), "utf8");
  const parts: string[] = [];
  for await (const line of lines) parts.push(line);
  const data = gzipSync(parts.join(""), { level: 9 }).toString("base64");
  const policy = [
    ...["default-src 'none'", `script-src '${digestOf(script)}'`, "style-src 'unsafe-inline'", "img-src data:"],
    ...["base-uri 'none'", "form-action 'none'"],
  ];
  return [
    `${pageBegin}<html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
    '<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">',
    `<title>${escaped(title)}</title><style>${style}</style></head><body><div id="app"></div>`,
    `<script type="text/plain" id="turnlog-data" data-address="${escaped(address)}" data-redacted="${isRedacted ? "yes" : "no"}">${data}</script>`,
    `<script type="module">${script}</script></body></html>\n`,
  ].join("\n");
}

/** Nothing in a script may end its element. */
const inlined = (script: string): string => script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");

const digestOf = (script: string): string => `sha256-${createHash("sha256").update(script).digest("base64")}`;

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
