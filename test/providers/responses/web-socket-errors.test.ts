import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  cannedError,
  errorRows,
  type ReferenceServer,
  startReferenceServer,
} from "../../../packages/reference-server/src/server.ts";
import { ProviderError } from "../../../src/engine/ports/provider-error.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";
import type { OpenaiResponses } from "../../../src/providers/responses/responses-options.ts";
import { rejectionOf } from "../../support/workshop.ts";

type Asked = { readonly server: ReferenceServer; readonly provider: OpenaiResponses };

const createBody = '{"model":"m","input":"go"}';
const frame = '{"type":"response.create","model":"m","input":"go"}';

async function ask({ provider }: Asked, transport: "json" | "websocket"): Promise<ProviderError> {
  const error = await rejectionOf(
    provider.infer({
      bodyText: transport === "json" ? createBody : frame,
      settings: { model: "m" },
      transport,
      connection: { conversation: "conversation-c", lives: null },
      signal: new AbortController().signal,
      onDelta: () => undefined,
    }),
  );
  if (error instanceof ProviderError) return error;
  throw error;
}

describe.each(["documented", "bare", "flat"] as const)("an error in a frame (%s)", (errors) => {
  let asked: Asked;

  beforeAll(async () => {
    const server = await startReferenceServer({ webSocket: { errors } });
    asked = {
      server,
      provider: openaiResponses({ model: "m", baseURL: server.baseUrl, apiKey: "key", transport: "websocket" }),
    };
  });

  afterAll(async () => {
    await asked.provider[Symbol.asyncDispose]?.();
    await asked.server[Symbol.asyncDispose]();
  });

  // A body without an error object has no other shape than its own.
  const rows = errorRows.filter(({ body }) => errors === "documented" || typeof body["error"] === "object");
  test.each(rows.map((row) => [row.name, row] as const))(
    "is what it is over HTTP: %s",
    async (name, { status, body }) => {
      const { server } = asked;
      server.inject(cannedError(name), cannedError(name));
      const overHttp = await ask(asked, "json");
      const overSocket = await ask(asked, "websocket");
      const told = ({ kind, outcome, providerCode, message }: ProviderError) => ({
        kind,
        outcome,
        providerCode,
        message,
      });
      expect(told(overSocket)).toEqual(told(overHttp));
      // A flat frame has no status, but where its server repeats it as the code.
      const { code } = z.looseObject({ code: z.unknown() }).safeParse(body["error"]).data ?? {};
      expect(overSocket.status).toBe(errors === "flat" && code !== status ? null : status);
    },
  );
});
