import { request } from "node:http";
import { expect, test } from "vitest";
import { type ReferenceServer, startReferenceServer } from "../../packages/reference-server/src/server.ts";
import { accepted, create, idOf, user } from "../support/reference-server/wire-client.ts";

/** The status of a request with a path that `fetch` would have mended. */
const statusOf = ({ url }: ReferenceServer, method: string, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sent = request({ hostname, port, method, path }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject).end();
  });

test.each([
  ["GET", "/v1/responses/%E0%A4%A", 400],
  ["GET", "/v1/responses/%", 400],
  ["POST", "/v1/responses/%ff/cancel", 400],
  ["DELETE", "/v1/responses/%C3%28", 400],
  ["GET", "*", 400],
  ["GET", "http://[", 400],
  ["GET", "//", 404],
  ["GET", "//[", 404],
  ["GET", "/", 404],
  ["POST", "/v1/responses/", 404],
  ["GET", "/v1/responses/..%2f..%2fetc", 404],
] as const)("an unknown path is rejected: %s %s", async (method, path, status) => {
  await using server = await startReferenceServer();
  expect(await statusOf(server, method, path)).toBe(status);
  expect((await create(server, { input: "go on" })).status).toBe(200);
});

test("a server keeps as many requests and responses as it may, and forgets the oldest", async () => {
  await using server = await startReferenceServer({ maxKept: 3 });
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(idOf(await accepted(server, { input: [user(`number ${n}`)] })));
  expect(server.requests.map(({ index }) => index)).toEqual([2, 3, 4]);
  expect(server.responseIds()).toEqual(ids.slice(2));
  expect([server.reading(1), server.reading(ids[1] ?? ""), server.context(ids[1] ?? "")]).toEqual(
    Array.from({ length: 3 }, () => undefined),
  );
  expect(server.reading(4)?.items).toEqual([user("number 4")]);
  const chain = async (id: string | undefined): Promise<number> =>
    (await create(server, { previous_response_id: id ?? "", input: "go on" })).status;
  expect([await chain(ids[0]), await chain(ids[4])]).toEqual([400, 200]);
});

test("a server keeps as many bytes of bodies as it may, and the newest whatever its size", async () => {
  await using server = await startReferenceServer({ maxKeptBytes: 1_000 });
  for (const length of [300, 300, 300, 5_000]) await create(server, { input: "x".repeat(length) });
  expect(server.requests.map(({ index }) => index)).toEqual([3]);
  await create(server, { input: "small" });
  expect(server.requests.map(({ index }) => index)).toEqual([4]);
});
