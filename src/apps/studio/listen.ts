import { createAdaptorServer } from "@hono/node-server";
import type { Studio } from "./studio.ts";

export type ListenOptions = {
  readonly host: string;
  readonly port: number;
  /** Whether another port will do if this one is taken. */
  readonly orNext: boolean;
};

export type Listening = AsyncDisposable & { readonly port: number };

/** How many further ports are tried. */
const mostPorts = 50;

/**
 * Serves a studio over HTTP; `make` gets the port, which its guard needs.
 *
 * @throws the error of the socket, such as EADDRINUSE.
 */
export async function listen(
  { host, port, orNext }: ListenOptions,
  make: (port: number) => Studio,
): Promise<Listening> {
  for (let tried = 0; ; tried += 1) {
    try {
      return await listenAt(host, port === 0 ? 0 : port + tried, make);
    } catch (error) {
      if (!orNext || tried >= mostPorts || !isTaken(error)) throw error;
    }
  }
}

const isTaken = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EADDRINUSE";

function listenAt(host: string, port: number, make: (port: number) => Studio): Promise<Listening> {
  return new Promise((resolve, reject) => {
    let studio: Studio | null = null;
    const server = createAdaptorServer({
      fetch: async (request: Request) => studio?.fetch(request) ?? new Response(null, { status: 503 }),
    });
    server.once("error", reject);
    server.listen(port, host, () => {
      const address = server.address();
      const taken = typeof address === "object" && address !== null ? address.port : port;
      studio = make(taken);
      resolve({
        port: taken,
        async [Symbol.asyncDispose]() {
          if ("closeAllConnections" in server) server.closeAllConnections();
          await new Promise((closed) => server.close(closed));
        },
      });
    });
  });
}
