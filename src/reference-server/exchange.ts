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

/** What waits to go wrong. */
interface Faults {
  readonly faults: (Fault | undefined)[];
  readonly options: ReferenceServerOptions;
}

/** What goes wrong with this request, if anything. */
export const nextFault = ({ faults, options }: Faults, received: Received): Fault | undefined =>
  faults.length > 0 ? faults.shift() : options.faults?.(received);

/** What goes wrong with a request that asks for an answer, and whether that was the answer. */
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

/** Sends the answer to a request, or what a fault leaves of it. */
export async function finish({ received, response }: Exchange, outgoing: Outgoing, fault?: Fault): Promise<void> {
  if (fault?.kind !== "lost-acknowledgement") received.status = outgoing.status;
  const headers = { "x-request-id": `req_${received.index}`, ...outgoing.headers };
  const hasFired = await send(response, { ...outgoing, headers }, fault);
  received.hasFaultFired ||= hasFired;
}
