import { TurnlogStore } from "../src/engine/turnlog-store.ts";
import { createMemoryStore } from "../src/stores/memory/store.ts";
