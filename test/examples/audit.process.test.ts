import { join } from "node:path";
import { expect, test } from "vitest";
import { findings } from "../../examples/audit.ts";
import { openStore } from "../../src/conversation/open-store.ts";
import { useDemoStore } from "../support/cli/demo-store.ts";
import { outcomeOf } from "../support/process.ts";

const demoStore = useDemoStore();
const program = join(import.meta.dirname, "../../examples/audit.ts");

test("the auditor's program prints each layer's difference and each body that was sent", async () => {
  const { path: cwd, file } = demoStore();
  const { code, stdout, stderr } = await outcomeOf(process.execPath, [program], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^@3 user added user: I am ada@example\.org/m);
  expect(stdout).toMatch(/^@6 middleware redact-emails.* changed user: I am ada@example\.org.* -> I am \[email\]/m);
  expect(stdout).toMatch(/^@14 tool .* added tool_result: Rome: sunny, 24 degrees$/m);
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation((await store.list()).conversations[0]?.id);
  const { requests, events } = await conversation.verify();
  expect(stdout.match(/^@\d+ sent \d+ bytes, sha256 [0-9a-f]{64}: \{/gm)?.length).toBe(requests);
  expect(stdout).toMatch(new RegExp(`\\n${events} events and ${requests} requests verified: all sound\\n$`));
});

test("the auditor's program tells damage, and goes on", async () => {
  const { file } = demoStore();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  const conversation = store.conversation((await store.list()).conversations[0]?.id);
  const stream = `conversation-${conversation.id}`;
  const unheard = { event: { type: "Unheard", version: 1, data: {} }, actor: { kind: "app" } } as const;
  await store.log.append(stream, await store.events.head(stream), [unheard]);
  const told: string[] = [];
  for await (const event of conversation.walk()) told.push(...findings(event));
  expect(told.at(-1)).toMatch(/^@66 .*Unheard/);
  const ended = await outcomeOf(process.execPath, [program, `sqlite:${file("turnlog.db")}`, conversation.id]);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/verified: damaged\n$/);
});
