/** A program with a layer that never returns, and nothing else to do. */

import { TurnlogStore } from "../../../src/conversation/turnlog-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { defineMiddleware } from "../../../src/engine/ports/middleware.ts";
import { scripted } from "../../../src/providers/scripted/scripted.ts";
import { createMemoryStore } from "../../../src/stores/memory/store.ts";

const hanging = defineMiddleware({ name: "hanging", version: "1.0.0" }, () => () => new Promise(() => undefined));
const engine = createEngine({ provider: scripted([]), middleware: [hanging], layerTimeoutMs: 50 });
const conversation = new TurnlogStore(createMemoryStore()).conversation();
await conversation.append("hello");
await conversation.run(engine).catch((error: unknown) => process.stdout.write(String(error)));
