import { bundledStudio } from "../../../src/studio/bundled-studio.ts";
import { readFrom } from "../source.ts";
import { startPage } from "../start.tsx";
import { nodeGlobals } from "./node-globals.ts";

/** A page in one file: the data is in it, and the handler that a server would have runs here. */
const data = nodeGlobals.document.getElementById("turnlog-data");
const { address = "", redacted: isRedacted = "" } = data?.dataset ?? {};
const studio = bundledStudio({
  lines: (await unpacked(data?.textContent ?? "")).split("\n"),
  address,
  isRedacted: isRedacted === "yes",
});

readFrom(async (path, init) => (await studio).fetch(new Request(new URL(path, "http://page"), init)));
startPage({ isLive: false });

/** Gzip as base64. */
async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.trim()), (each) => each.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
