import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";

/** A handler of Web-standard requests as a listener of `node:http`, also for the middleware of Express and others. */
export function toNode(
  fetch: (request: Request) => Response | Promise<Response>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listen = getRequestListener(fetch, { overrideGlobalObjects: false });
  return (incoming, outgoing) => void listen(incoming, outgoing);
}
