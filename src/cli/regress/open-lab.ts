import { withNondeterminism } from "../../lab/nondeterminism.ts";
import { createLab, type RegressOptions } from "../../lab/regress.ts";
import { openStore } from "../../open-store.ts";
import { openBundle } from "../open-bundle.ts";
import { createSettings } from "../settings.ts";
import { loadStack } from "../stack-file.ts";
import type { FromThread, RegressTask, ToThread } from "./messages.ts";

/** Opens the store for reading, loads the modules, and returns the function that compares a conversation. */
export async function openLab(task: RegressTask): Promise<(asked: ToThread) => Promise<FromThread>> {
  const settings = createSettings(task.config === null ? {} : { config: task.config }, {
    ...{ env: process.env, cwd: process.cwd(), readsOnly: true },
  });
  const { engine, codecs, contextOf } = await loadStack(task.with, settings);
  const other = task.compareWith === null ? null : await loadStack(task.compareWith, settings);
  const known = [...codecs.values(), ...(other?.codecs.values() ?? [])];
  const store =
    task.bundle === null
      ? await openStore(task.store ?? "", { mustExist: true, mayBeReadOnly: true, codecs: known })
      : await openBundle(task.bundle);
  const options: RegressOptions = {
    codecs: new Map(known.map((codec) => [codec.name, codec])),
    recordedPolicies: task.recordedPolicies,
    ...(other === null ? {} : { compareWith: other.engine }),
    ...(task.without === null ? {} : { without: task.without }),
    ...(contextOf === null ? {} : { context: contextOf }),
    ...(task.prices === null ? {} : { prices: task.prices }),
    ...(task.priceAs === null ? {} : { priceAs: task.priceAs }),
  };
  const lab = await createLab(store, engine, options);
  return async ({ id, found }) => {
    if (found === null) return { kind: "result", compared: await lab.compare(id) };
    const runIds = found.traces.map(({ runId }) => runId);
    const again = await lab.traces(id, runIds);
    return { kind: "again", result: withNondeterminism(found, again, engine.options.provider.codec) };
  };
}
