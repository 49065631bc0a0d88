import { randomBytes, timingSafeEqual } from "node:crypto";
import type { Studio } from "./studio.ts";

export type GuardOptions = {
  readonly port: number;
  /** Names under which the page may be asked for, besides this machine's own. */
  readonly hosts: readonly string[];
  readonly token: string;
};

export const newToken = (): string => randomBytes(16).toString("hex");

/**
 * Protects a studio that listens on a port: only by the link with the token, only under known names, and never for pages of other origins. The
 * cookie has the port in its name, because cookies ignore ports.
 */
export function guarded({ fetch }: Studio, { port, hosts, token }: GuardOptions): Studio {
  const known = new Set(["127.0.0.1", "localhost", "[::1]", ...hosts].flatMap((host) => [host, `${host}:${port}`]));
  const cookie = `studio_${port}`;
  return {
    async fetch(request) {
      const url = new URL(request.url);
      const host = request.headers.get("host") ?? "";
      if (!known.has(host)) return refusal(403, "wrong-host", `this studio is not '${host.slice(0, 100)}'`);
      const origin = request.headers.get("origin");
      if (origin !== null && !isKnownOrigin(origin, known))
        return refusal(403, "wrong-origin", "another page asked, and this studio answers its own only");
      const given = url.searchParams.get("token");
      if (given !== null && isEqual(given, token)) {
        url.searchParams.delete("token");
        const headers = {
          location: `${url.pathname}${url.search}`,
          "set-cookie": `${cookie}=${token}; HttpOnly; SameSite=Strict; Path=/`,
          "cache-control": "no-store",
          "referrer-policy": "no-referrer",
        };
        return new Response(null, { status: 302, headers });
      }
      if (!isEqual(cookieIn(request, cookie), token))
        return url.pathname.startsWith("/api/") ? refusal(401, "no-token", noToken) : noTokenPage();
      if (request.method === "POST" && request.headers.get("content-type") !== "application/json")
        return refusal(415, "input", "a POST has the content type application/json");
      return fetch(request);
    },
  };
}

function isKnownOrigin(origin: string, known: ReadonlySet<string>): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  return protocol === "http:" && known.has(host);
}

function isEqual(given: string, token: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(token)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function cookieIn(request: Request, name: string): string {
  const cookies = (request.headers.get("cookie") ?? "").split(/;\s*/);
  return cookies.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

const noToken = "open the link that turnlog studio printed in your terminal";

const refusal = (status: number, code: string, message: string): Response =>
  Response.json({ error: { code, message, hint: "" } }, { status, headers: { "cache-control": "no-store" } });

const noTokenPage = (): Response =>
  new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>turnlog studio</title><main><h1>This page needs its link</h1><p>To see this store, ${noToken}. It carries a token that ends with the command.</p></main></html>`,
    {
      status: 401,
      headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'" },
    },
  );
