import type { ServerResponse } from "node:http";
import { asJson, type Outgoing, pause, send } from "./delivery.ts";
import type { Fault } from "./faults.ts";
import type { ReceivedRequest, ReferenceServerOptions } from "./options.ts";

export type Received = { -readonly [Key in keyof ReceivedRequest]: ReceivedRequest[Key] };

/** One open exchange. */
export interface Exchange {
  readonly received: Received;
  readonly response: ServerResponse;
}

/** The pending faults. */
interface Faults {
  readonly faults: (Fault | undefined)[];
  readonly options: ReferenceServerOptions;
}

/** The fault of this request, if any. */
export const nextFault = ({ faults, options }: Faults, received: Received): Fault | undefined =>
  faults.length > 0 ? faults.shift() : options.faults?.(received);

/** Applies the fault of a request for an answer. Returns the fault, and whether it was the answer. */
export async function firstFault(
  parts: Faults,
  exchange: Exchange,
): Promise<{ readonly fault: Fault | undefined; readonly isAnswered: boolean }> {
  const { received } = exchange;
  const fault = nextFault(parts, received);
  received.hasFaultFired = fault !== undefined && fault.kind !== "cut";
  if (fault?.kind === "delay" && fault.afterBytes === undefined) await pause(fault);
  if (fault?.kind !== "answer") return { fault, isAnswered: false };
  const { headers = {} } = fault;
  await finish(exchange, { ...asJson(fault.status, fault.body), headers });
  return { fault, isAnswered: true };
}

/** Sends the answer to a request, or the part of it that a fault allows. */
export async function finish({ received, response }: Exchange, outgoing: Outgoing, fault?: Fault): Promise<void> {
  if (fault?.kind !== "lost-acknowledgement") received.status = outgoing.status;
  const headers = { "x-request-id": `req_${received.index}`, ...outgoing.headers };
  const hasFired = await send(response, { ...outgoing, headers }, fault);
  received.hasFaultFired ||= hasFired;
}
