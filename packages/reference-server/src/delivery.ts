import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./faults.ts";
import type { Refusal } from "./refusals.ts";
import type { Json } from "./wire.ts";

/** An answer that is ready to be sent. */
export interface Outgoing {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** As a whole, or in pieces. */
  readonly text: string | AsyncIterable<string>;
}

/** A body as JSON. */
export function asJson(status: number, body: Json): Outgoing & { readonly text: string } {
  return { status, contentType: "application/json", text: JSON.stringify(body) };
}

export function refused({ status, body }: Refusal): Outgoing {
  return asJson(status, body);
}

/** Sends an answer, or the part of it that the fault allows. Returns whether the fault had an effect. */
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
  // In a shorter body, the pause comes at the end.
  if (!hasFired) await pause(breaking);
  response.end();
  return true;
}

/** Sends a body piece by piece, with the fault in it. Returns whether the fault had an effect. */
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

/** Whether the fault cuts the answer off. */
export function isCut(fault: Fault | undefined, length: number): fault is Extract<Fault, { readonly kind: "cut" }> {
  return fault?.kind === "cut" && fault.afterBytes < length;
}

export async function pause(fault: Extract<Fault, { readonly kind: "delay" }>): Promise<void> {
  if (fault.ms !== undefined) await sleep(fault.ms);
  await fault.until;
}

// A destroyed socket drops unsent data, so wait for the bytes before a cut.
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
