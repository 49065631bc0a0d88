import { expect, test } from "vitest";
import { guarded } from "../../../src/apps/studio/guard.ts";

const token = "0123456789abcdef0123456789abcdef";
const open = guarded({ fetch: async () => new Response("inside") }, { port: 4777, hosts: ["studio.example"], token });

type Asked = { readonly path?: string; readonly headers?: Readonly<Record<string, string>>; readonly method?: string };

const ask = ({ path = "/api/store", headers = {}, method = "GET" }: Asked): Promise<Response> =>
  open.fetch(new Request(`http://127.0.0.1:4777${path}`, { method, headers: { host: "127.0.0.1:4777", ...headers } }));

const cookie = `studio_4777=${token}`;

test.each<readonly [string, Asked, number]>([
  ["no token", {}, 401],
  ["the cookie", { headers: { cookie } }, 200],
  ["another token", { headers: { cookie: `studio_4777=${token.replace("0", "1")}` } }, 401],
  ["the cookie of another port", { headers: { cookie: `studio_4778=${token}` } }, 401],
  ["another host", { headers: { cookie, host: "evil.example" } }, 403],
  ["a host with another port", { headers: { cookie, host: "127.0.0.1:80" } }, 403],
  ["a name that was allowed", { headers: { cookie, host: "studio.example" } }, 200],
  ["another origin", { headers: { cookie, origin: "http://evil.example" } }, 403],
  ["the origin null", { headers: { cookie, origin: "null" } }, 403],
  ["its own origin", { headers: { cookie, origin: "http://localhost:4777" } }, 200],
  ["its own name over https", { headers: { cookie, origin: "https://localhost:4777" } }, 403],
  ["a form's POST", { method: "POST", headers: { cookie, "content-type": "text/plain" } }, 415],
  ["a wrong token in the link", { path: "/?token=00" }, 401],
])("%s gets %o answered with %i", async (_, asked, status) => {
  expect((await ask(asked)).status).toBe(status);
});

test("the link becomes a cookie that scripts and other sites do not get, and the token leaves the address", async () => {
  const answer = await ask({ path: `/c/cnv_1?r=3&token=${token}` });
  expect([answer.status, answer.headers.get("location")]).toEqual([302, "/c/cnv_1?r=3"]);
  expect(answer.headers.get("set-cookie")).toBe(`${cookie}; HttpOnly; SameSite=Strict; Path=/`);
});

test("a person without the token reads what to do", async () => {
  const answer = await ask({ path: "/" });
  expect(await answer.text()).toContain("open the link that turnlog studio printed in your terminal");
});
