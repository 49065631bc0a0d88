/**
 * The server of a chat page. In this folder: `npm install && npm run build && npm start`, then open the address that it prints. Without a key the
 * reference server plays the model; with OPENAI_API_KEY a real one answers.
 */
import { createReadStream } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
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

const server = createServer((request, response) => {
  const path = request.url ?? "/";
  const isPage = !path.startsWith("/api/chat");
  if (isPage) showPage(path === "/page.js" ? "page.js" : "index.html", response);
  else answer(request, response);
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === "object" ? address?.port : PORT}`);
});

function showPage(file: string, response: ServerResponse): void {
  response.setHeader("content-type", file === "page.js" ? "text/javascript" : "text/html; charset=utf-8");
  createReadStream(join(PAGE, file)).pipe(response);
}
