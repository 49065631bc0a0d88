import { expect, test } from "vitest";
import { message, startReferenceServer } from "../../../packages/reference-server/src/server.ts";
import { outputOf, supportFile } from "../../support/process.ts";

test("idle connections do not keep their process from ending", async () => {
  await using server = await startReferenceServer({ answer: () => ({ output: [message("Good day.")] }) });
  expect(await outputOf([supportFile("providers/idle-socket-process.ts"), server.baseUrl])).toBe("Good day.\n");
  expect(server.requests.map(({ socket, status }) => [socket, status])).toEqual([[0, 200]]);
});
