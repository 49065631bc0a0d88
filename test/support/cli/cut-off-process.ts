import { openStore } from "../../../src/conversation/open-store.ts";
import { interceptedBy } from "../../../src/engine/run/run-options.ts";
import type { Interceptor } from "../../../src/engine/session/breakpoint.ts";
import { engine } from "./cut-off-stack.ts";
import "../keep-compiled.ts";

/** Begins a run and dies in it, as `kill -9` does: `node cut-off-process.ts <store> <kind of effect> <before | after>`. */
const [url = "", kind = "", phase = ""] = process.argv.slice(2);
const gate: Interceptor = async (stop) => {
  if (stop.kind === kind && stop.phase === phase) process.kill(process.pid, "SIGKILL");
  return null;
};
const conversation = (await openStore(url)).conversation("cnv_cutoff");
await conversation.append("Charge me.");
await conversation.run(engine(), interceptedBy(gate, {}));
