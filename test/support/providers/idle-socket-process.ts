import { openStore } from "../../../src/conversation/open-store.ts";
import { createEngine } from "../../../src/engine/options/create-engine.ts";
import { openaiResponses } from "../../../src/providers/responses/openai-responses.ts";

// Opens two WebSockets, asks on one, says the answer, and leaves both open: neither engines nor store are disposed of.
const [baseURL = ""] = process.argv.slice(2);
const store = await openStore("memory:");
const conversation = store.conversation();
await conversation.append("Hello.");
const provider = openaiResponses({ model: "m", apiKey: "key", baseURL, transport: "websocket", store: false });
const { text } = await conversation.run(createEngine({ provider }));
const other = openaiResponses({ model: "m", apiKey: "key", baseURL, transport: "websocket" });
await store.conversation().warmUp(createEngine({ provider: other, mode: "stateless" }));
process.stdout.write(`${text}\n`);
