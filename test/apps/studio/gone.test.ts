import { rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ErrorDocument } from "../../../src/apps/studio/page-documents.ts";
import { temporaryFolder } from "../../support/stores/temporary-folder.ts";
import { studioHere } from "../../support/studio/studio-here.ts";

const gone = "The store that was open here is gone: put it back if you can, and start turnlog studio again.";

test.each([
  ["was deleted", () => undefined],
  ["was replaced by another file", (path: string) => writeFileSync(path, "")],
] as const)("of a store that %s while the studio is open, it says that the store is gone", async (what, put) => {
  const { file } = temporaryFolder();
  await using here = await studioHere(`sqlite:${file("store.db")}`);
  const conversation = here.store.conversation();
  await conversation.append("Hello.");
  for (const end of ["", "-wal", "-shm"]) rmSync(file(`store.db${end}`));
  put(file("store.db"));
  const { error } = await here.get<ErrorDocument>(`/api/c/${conversation.id}`);
  expect(error).toMatchObject({ code: "store-replaced", hint: gone });
  expect(error.message).toContain(what);
});
