import { expect, test } from "vitest";
import { outputOf } from "../../support/process.ts";

test("names the command that installs the client when it is not there", async () => {
  const script = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        return next(specifier.replace("@eventstore/db-client", "@eventstore/not-there"), context);
      },
    });
    const { openStore } = await import(${JSON.stringify(new URL("../../../src/conversation/open-store.ts", import.meta.url).href)});
    await openStore("esdb://127.0.0.1:1?tls=false").catch((error) => console.log(error.code, error.message));
  `;
  const said = await outputOf(["--input-type=module", "--eval", script]);
  expect(said).toContain("store-unavailable");
  expect(said).toContain("npm install @eventstore/db-client");
});
