import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { kindOf } from "../../base/options.ts";

/**
 * A handler of Web-standard requests as a listener of `node:http`, also for the middleware of Express and others.
 *
 * @throws {TypeError} if it is not a function.
 */
export function toNode(
  fetch: (request: Request) => Response | Promise<Response>,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  if (typeof fetch !== "function")
    throw new TypeError(`toNode takes a handler of requests, not ${kindOf(fetch)}: write toNode(chat.fetch)`);
  const listen = getRequestListener(fetch, { overrideGlobalObjects: false });
  return (incoming, outgoing) => void listen(incoming, outgoing);
}
