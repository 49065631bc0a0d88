import type { Studio } from "../../../src/apps/studio/studio.ts";
import { readFrom } from "../source.ts";
import type * as Handler from "./handler.ts";

declare global {
  // A page in one file has the handler in a script before that of the page.
  var turnlogHandler: typeof Handler | undefined;
}

/** The element with the data of a page in one file; null in a page that a studio serves. */
export const bundledPage = (): HTMLElement | null => document.getElementById("turnlog-data");

/** A page in one file: the data is in it, and the handler that a server would have runs here. */
export function openBundledPage(data: HTMLElement): void {
  const { address = "", redacted } = data.dataset;
  const studio = unpacked(data.textContent).then((text) => {
    if (globalThis.turnlogHandler === undefined) throw new Error("this page lacks its handler");
    const { bundledStudio } = globalThis.turnlogHandler;
    return bundledStudio({ lines: text.split("\n"), address, isRedacted: redacted === "yes" });
  });
  readFrom(asSource(studio));
}

/** A handler as the source of the page's data. */
export const asSource =
  (studio: Promise<Studio>) =>
  async (path: string, init?: RequestInit): Promise<Response> =>
    (await studio).fetch(new Request(new URL(path, "http://page"), init));

/** Gzip as base64. */
async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.trim()), (each) => each.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
