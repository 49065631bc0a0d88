import { openStore } from "../../../conversation/open-store.ts";
import { type Engine, engineOf } from "../../../engine/options/engine.ts";
import { withNondeterminism } from "../../../replay/regression/nondeterminism.ts";
import { createLab, type RegressOptions } from "../../../replay/regression/regress.ts";
import { layerLimitMs } from "../../../replay/regression/track.ts";
import { openBundle } from "../open-bundle.ts";
import { createSettings } from "../settings.ts";
import { codecsOf, loadEngine } from "../stack-file.ts";
import { layerMarker } from "./layer-cell.ts";
import type { FromThread, ThreadData, ThreadLayers, ToThread } from "./messages.ts";

type OpenLab = ThreadLayers & { readonly answer: (asked: ToThread) => Promise<FromThread> };

/** Opens the store for reading, loads the modules, and returns the function that compares a conversation. */
export async function openLab({ task, atWork }: ThreadData): Promise<OpenLab> {
  const settings = createSettings(task.config === null ? {} : { config: task.config }, {
    ...{ env: process.env, cwd: process.cwd(), readsOnly: true },
  });
  const engine = await loadEngine(task.with, settings);
  const other = task.compareWith === null ? null : await loadEngine(task.compareWith, settings);
  const files = [task.with, ...(task.compareWith === null ? [] : [task.compareWith])];
  const known = (await Promise.all(files.map((file) => codecsOf(file, settings)))).flatMap((of) => [...of.values()]);
  const store =
    task.bundle === null
      ? await openStore(task.store ?? "", { mustExist: true, mayBeReadOnly: true, codecs: known })
      : await openBundle(task.bundle);
  const engines = [engine, ...(other === null ? [] : [other])];
  const layers = [...new Set(engines.flatMap((each) => each.options.layers.map(({ name }) => name)))];
  const onLayerAtWork = layerMarker(atWork, layers);
  // A baseline that exports no context gets that of the changed stack.
  const marked = ({ options: of }: Engine): Engine =>
    engineOf({ ...of, context: of.context ?? engine.options.context, onLayerAtWork });
  const options: RegressOptions = {
    codecs: new Map(known.map((codec) => [codec.name, codec])),
    recordedPolicies: task.recordedPolicies,
    ...(other === null ? {} : { compareWith: marked(other) }),
    ...(task.without === null ? {} : { without: task.without }),
    ...(task.prices === null ? {} : { prices: task.prices }),
    ...(task.priceAs === null ? {} : { priceAs: task.priceAs }),
  };
  const lab = await createLab(store, marked(engine), options);
  const answer = async (asked: ToThread): Promise<FromThread> => {
    const { id } = asked;
    if (asked.kind === "compare") return { kind: "result", compared: await lab.compare(id) };
    if (asked.kind === "blocked") return { kind: "final", result: await lab.blocked(id, asked.message) };
    const { found } = asked;
    const runIds = found.traces.map(({ runId }) => runId);
    const again = await lab.traces(id, runIds);
    return { kind: "final", result: withNondeterminism(found, again, engine.options.provider.codec) };
  };
  return { answer, layers, layerLimitMs: Math.max(...engines.map(({ options: of }) => layerLimitMs(of))) };
}
