import { once } from "node:events";
import { startReferenceServer } from "@turnlog/reference-server/server";
import { serverDocument } from "../../documents/running.ts";
import { type CommandInput, commandCode } from "../command.ts";
import { answerAsTravelAgent } from "../demo/travel-agent.ts";

/** Runs the reference server until a signal interrupts it, which is its normal end. */
export const referenceServer = commandCode({
  document: serverDocument,

  async *run({ signal }, { options: { port } }: CommandInput<{ readonly port: number }>) {
    await using server = await startReferenceServer({ port, answer: answerAsTravelAgent });
    yield { url: server.url, baseUrl: server.baseUrl };
    if (!signal.aborted) await once(signal, "abort");
  },

  render({ url, baseUrl }, { print, note, commandName }) {
    print(baseUrl);
    note(
      `answers POST ${baseUrl}/responses; ask it for a train, or try \`${commandName} demo --server ${url}\`; Ctrl-C ends it`,
    );
  },
});
