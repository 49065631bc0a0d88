import { signal } from "@preact/signals";
import type { Codec } from "../../../src/engine/ports/codec.ts";
import { followAnew } from "../live.ts";
import { go } from "../route.ts";
import { readFrom } from "../source.ts";
import type * as Handler from "./handler.ts";
import { asSource } from "./page.ts";

/** The bundle that was dropped onto the page: its name, or why it cannot be opened. */
export const dropped = signal<{ readonly name: string; readonly problem: string | null } | null>(null);

/** Opens bundles that are dropped anywhere on the page. A page in one file opens others, too. */
export function listenForDrops(): void {
  addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files") === true) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    const [file] = event.dataTransfer?.files ?? [];
    if (file === undefined) return;
    event.preventDefault();
    void open(file);
  });
}

async function open(file: File): Promise<void> {
  const name = file.name;
  try {
    const lines = (await file.text()).split("\n");
    const problem = await problemOf(lines);
    if (problem === null) await show(name, lines);
    dropped.value = { name, problem };
  } catch (error) {
    dropped.value = { name, problem: `it cannot be read: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Shows a bundle in the place of the store, until the page is loaded again. */
async function show(name: string, lines: readonly string[]): Promise<void> {
  const handler = globalThis.turnlogHandler ?? (await servedHandler(lines));
  const studio = await handler.bundledStudio({ lines, address: name, isRedacted: false });
  readFrom(asSource(Promise.resolve(studio)));
  followAnew();
  go("/");
}

/** The handler as the studio serves it, with the codecs that the bundle was sent with. */
async function servedHandler(lines: readonly string[]): Promise<typeof Handler> {
  // The build writes these files beside the page.
  const [core, codecs] = ["/offline.js", "/codecs.json"];
  const handler = (await import(/* @vite-ignore */ core)) as typeof Handler;
  const names = (await (await fetch(codecs)).json()) as Readonly<Record<string, readonly string[]>>;
  for (const [file, own] of Object.entries(names)) {
    if (!own.some((each) => lines.some((line) => line.includes(each)))) continue;
    const path = `/${file}`;
    handler.addCodecs(((await import(/* @vite-ignore */ path)) as { readonly codecs: readonly Codec[] }).codecs);
  }
  return handler;
}

/** Why lines are no bundle that can be shown; null if they are one. */
async function problemOf(lines: readonly string[]): Promise<string | null> {
  const [header, last] = [membersOf(lines[0]), membersOf(lines.findLast((line) => line !== ""))];
  if (header?.["format"] !== "turnlog-bundle") return "it is not a bundle of turnlog export";
  if (header["isRedacted"] === true) return "its texts are redacted, so that it can be verified and not shown";
  if (last?.["format"] !== "turnlog-bundle-end") return "it is cut off: take it from its source again";
  const end = lines.findLastIndex((line) => line !== "");
  const text = new TextEncoder().encode(`${lines.slice(0, end).join("\n")}\n`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  const sha256 = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return last["sha256"] === sha256 ? null : "it is not what was written: take it from its source again";
}

function membersOf(line: string | undefined): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line ?? "");
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
