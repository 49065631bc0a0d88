import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import * as z from "zod";
import { documentOf, turnlogHere } from "../support/cli/command.ts";
import { conversation, document } from "../support/cli/contract-parts.ts";
import { contracts } from "../support/cli/contracts.ts";
import { useDemoStore } from "../support/cli/demo-store.ts";

const demoStore = useDemoStore();

test.each(contracts)("%s --json prints one document of its contract, and nothing else", async (typed, data) => {
  const outcome = await turnlogHere([...typed.split(" "), "--json"], { cwd: demoStore().path });
  expect(outcome).toMatchObject({ code: typed.startsWith("diff") ? 1 : 0, stderr: "" });
  expect(outcome.stdout.split("\n").length, "one line").toBe(2);
  const parsed = document(data).safeParse(documentOf(outcome));
  expect(parsed.error === undefined ? "" : z.prettifyError(parsed.error)).toBe("");
});

test("verify --json names what is damaged", async () => {
  const { path: cwd, file } = demoStore();
  const database = new DatabaseSync(file("turnlog.db"));
  database.exec("UPDATE events SET data = replace(data, 'Aurora', 'Bellini') WHERE revision = 28");
  database.close();
  const outcome = await turnlogHere(["verify", "--json"], { cwd });
  expect(outcome.code).toBe(4);
  const { data } = document(
    z.strictObject({
      streams: z.int(),
      events: z.int(),
      requests: z.int(),
      problems: z.array(
        z.strictObject({
          stream: z.string(),
          conversation: conversation.nullable(),
          revision: z.int(),
          kind: z.enum(["chain", "head", "unreadable", "fold", "request", "view"]),
          message: z.string(),
        }),
      ),
      skipped: z.array(z.never()),
      savedHeads: z.null(),
    }),
  ).parse(documentOf(outcome));
  expect(data.problems).toMatchObject([{ revision: 28, kind: "chain" }]);
});
