/**
 * The server of a chat page. In this folder: `npm install && npm run build && npm start`, then open the address that it prints. Without a key the
 * reference server plays the model; with OPENAI_API_KEY a real one answers.
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { createEngine, openStore } from "turnlog";
import { chatCompletions } from "turnlog/chat";
import { openaiResponses } from "turnlog/responses";
import { createChat, toNode } from "turnlog/web";
import { demoModel } from "./demo-model.ts";
import { tools } from "./tools.ts";

const { OPENAI_API_KEY, MODEL = "gpt-5.4", PORT = "3000", STORE = "sqlite:./chat.db" } = process.env;
const { PAGE = join(import.meta.dirname, "dist") } = process.env;
const at =
  OPENAI_API_KEY === undefined
    ? { model: "demo", apiKey: "none", baseURL: (await demoModel()).baseUrl }
    : { model: MODEL, apiKey: OPENAI_API_KEY };

const store = await openStore(STORE);
const engines = {
  responses: createEngine({ provider: openaiResponses(at), tools }),
  completions: createEngine({ provider: chatCompletions(at), tools }),
};
const chat = createChat({
  store,
  // The page may choose another provider for every message.
  engine: (request) => (request.headers.get("x-provider") === "completions" ? engines.completions : engines.responses),
  // Put the user of your session here: everybody who reaches this page is ann.
  access: () => ({ actor: { kind: "user", name: "ann" }, labels: { user: "ann" } }),
});
const answer = toNode(chat.fetch);

const server = createServer(async (request, response) => {
  const path = request.url ?? "/";
  if (path.startsWith("/api/chat")) return answer(request, response);
  const [file, type] =
    path === "/page.js" ? ["page.js", "text/javascript"] : ["index.html", "text/html; charset=utf-8"];
  response.setHeader("content-type", type).end(await readFile(join(PAGE, file)));
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : PORT}`);
});
