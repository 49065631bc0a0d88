import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./faults.ts";
import type { Refusal } from "./refusals.ts";
import type { Json } from "./wire.ts";

/** An answer that is ready to go out. */
export interface Outgoing {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whole, or as it comes. */
  readonly text: string | AsyncIterable<string>;
}

/** A body as JSON. */
export function asJson(status: number, body: Json): Outgoing & { readonly text: string } {
  return { status, contentType: "application/json", text: JSON.stringify(body) };
}

export function refused({ status, body }: Refusal): Outgoing {
  return asJson(status, body);
}

/** Sends an answer, or as much of it as the fault lets through. Tells whether the fault did anything. */
export async function send(response: ServerResponse, outgoing: Outgoing, fault?: Fault): Promise<boolean> {
  if (fault?.kind === "lost-acknowledgement") {
    response.destroy();
    return true;
  }
  const { text } = outgoing;
  const isStream = /^(text\/event-stream|application\/x-ndjson)/.test(outgoing.contentType);
  const isWhole = typeof text === "string" && !isStream;
  const length = isWhole ? { "content-length": String(Buffer.byteLength(text)) } : {};
  response.writeHead(outgoing.status, { "content-type": outgoing.contentType, ...length, ...outgoing.headers });
  const breaking = fault?.kind === "cut" || (fault?.kind === "delay" && fault.afterBytes !== undefined) ? fault : null;
  if (breaking === null && typeof text === "string") {
    response.end(text);
    return false;
  }
  const hasFired = await sendPieces(response, typeof text === "string" ? [text] : text, breaking);
  if (breaking?.kind !== "delay") return hasFired;
  // A body that is shorter waits at its end.
  if (!hasFired) await pause(breaking);
  response.end();
  return true;
}

/** Sends a body piece by piece, and does in it what the fault says. Tells whether it came to that. */
async function sendPieces(
  response: ServerResponse,
  pieces: Iterable<string> | AsyncIterable<string>,
  breaking: Breaking | null,
): Promise<boolean> {
  let left = breaking?.afterBytes ?? Number.POSITIVE_INFINITY;
  let hasFired = false;
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece, "utf8");
    const here: Breaking | null = !hasFired && left < bytes.length ? breaking : null;
    await write(response, here === null ? bytes : bytes.subarray(0, left));
    if (here?.kind === "cut") {
      response.destroy();
      return true;
    }
    if (here !== null) {
      await pause(here);
      await write(response, bytes.subarray(left));
      hasFired = true;
    }
    left -= bytes.length;
    if (response.destroyed) return hasFired;
  }
  if (breaking?.kind !== "delay") response.end();
  return hasFired;
}

type Breaking = Extract<Fault, { readonly kind: "cut" | "delay" }>;

/** Whether the answer will break off. */
export function isCut(fault: Fault | undefined, length: number): fault is Extract<Fault, { readonly kind: "cut" }> {
  return fault?.kind === "cut" && fault.afterBytes < length;
}

export async function pause(fault: Extract<Fault, { readonly kind: "delay" }>): Promise<void> {
  if (fault.ms !== undefined) await sleep(fault.ms);
  await fault.until;
}

// A destroyed socket loses what was not handed over, so the bytes before a cut are waited for.
async function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  response.flushHeaders();
  if (bytes.length === 0 || response.destroyed) return;
  await new Promise<void>((resolve) => {
    response.once("close", resolve);
    response.write(bytes, () => {
      resolve();
    });
  });
}
