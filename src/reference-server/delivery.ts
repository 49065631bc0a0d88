import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./faults.ts";

/** An answer that is ready to go out. */
export interface Outgoing {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Sends an answer, or as much of it as the fault lets through. Tells whether the fault did anything. */
export async function send(response: ServerResponse, outgoing: Outgoing, fault?: Fault): Promise<boolean> {
  const bytes = Buffer.from(outgoing.text, "utf8");
  if (fault?.kind === "lost-acknowledgement") {
    response.destroy();
    return true;
  }
  const isStream = outgoing.contentType.startsWith("text/event-stream");
  const length = isStream ? {} : { "content-length": String(bytes.length) };
  response.writeHead(outgoing.status, { "content-type": outgoing.contentType, ...length, ...outgoing.headers });
  if (isCut(fault, bytes.length)) {
    await write(response, bytes.subarray(0, fault.afterBytes));
    response.destroy();
    return true;
  }
  const stall = fault?.kind === "delay" && fault.afterBytes !== undefined ? fault : undefined;
  if (stall === undefined) {
    response.end(bytes);
    return false;
  }
  await write(response, bytes.subarray(0, stall.afterBytes));
  await pause(stall);
  response.end(bytes.subarray(stall.afterBytes));
  return true;
}

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
