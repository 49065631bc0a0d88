import { startReferenceServer } from "../../reference-server/server.ts";
import type { CommandHandler } from "../context.ts";
import { answerAsTravelAgent } from "../demo/travel-agent.ts";
import { exitCodes } from "../exit-codes.ts";
import { numberOption } from "../options.ts";

/** Runs the reference server until it is interrupted, which is how it is meant to end. */
export const run: CommandHandler = async (context, { options }) => {
  const port = numberOption(options, "port", { least: 0, most: 65_535 }) ?? 0;
  const { signal } = context;
  await using server = await startReferenceServer({ port, answer: answerAsTravelAgent });
  const { url, baseUrl } = server;
  if (context.isJson) context.printJson({ url, baseUrl });
  else context.print(baseUrl);
  context.note(
    `answers POST ${baseUrl}/responses; ask it for a train, or try \`${context.commandName} demo --server ${url}\`; Ctrl-C ends it`,
  );
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener(
        "abort",
        () => {
          resolve();
        },
        { once: true },
      );
  });
  return exitCodes.ok;
};
