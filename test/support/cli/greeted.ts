import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../../src/conversation/open-store.ts";
import { user } from "../../../src/domain/make-block.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { built } from "../process.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { turnlog } from "./command-process.ts";

/** The text of a module with one layer, which says this before everything else. */
export const stackThat = (says: string, more = ""): string => `
import { createEngine, defineMiddleware, user } from ${JSON.stringify(join(built, "index.js"))};
import { scripted } from ${JSON.stringify(join(built, "entries/testing.js"))};
const greet = defineMiddleware({ name: "greet", version: "2.0.0" }, (next) => (turn, ctx) => next(turn.insertOnce("greet", user(${says}), 0)));
export const engine = createEngine({ provider: scripted([]), middleware: [greet], ...${more === "" ? "{}" : more} });
console.log("a module may print");
`;

/** A folder with three conversations that greeted, and the command in it. */
export async function greeted() {
  const { path: cwd, file } = temporaryFolder();
  await using store = await openStore(`sqlite:${file("turnlog.db")}`);
  const greet = defineMiddleware(
    { name: "greet", version: "1.0.0" },
    (next) => (turn) => next(turn.insertOnce("greet", user("Hello."), 0)),
  );
  for (const [name, label] of [
    ["cnv_a", "ann"],
    ["cnv_b", "bob"],
    ["cnv_c", "ann"],
  ] as const) {
    const conversation = store.conversation(name);
    await conversation.append("What time is it?");
    await conversation.relabel({ labels: { user: label } });
    await conversation.run(createEngine({ provider: scripted(["Noon."]), middleware: [greet] }));
  }
  const module = (name: string, text: string): string => {
    writeFileSync(file(name), text);
    return file(name);
  };
  return {
    ...{
      path: cwd,
      file,
      module,
      same: module("same.ts", stackThat('"Hello."')),
      other: module("other.ts", stackThat('"Hi."')),
    },
    run: (line: string) => turnlog(["regress", ...line.split(" ")], { cwd }),
  };
}
