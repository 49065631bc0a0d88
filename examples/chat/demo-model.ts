import { functionCall, message, type ReferenceServer, type ServerAnswer, startReferenceServer } from "turnlog/testing";

/** A model without a key: it calls a tool if the message names one, and pauses in the middle of every answer. */
export const demoModel = (): Promise<ReferenceServer> =>
  startReferenceServer({
    answer: ({ reading }) => answerTo(reading.items.map((item) => JSON.stringify(item))),
    faults: () => ({ kind: "delay", afterBytes: 1_800, ms: Number(process.env["DEMO_PAUSE_MS"] ?? 700) }),
  });

function answerTo(items: readonly string[]): ServerAnswer {
  const asked = items.findLastIndex((item) => item.includes('"role":"user"'));
  const question = items[asked] ?? "";
  const results = items.slice(asked + 1).filter((item) => item.includes("_output"));
  const [result] = results;
  if (result !== undefined) return { output: [message(`The tool says: ${textIn(result)}. That is all I know.`)] };
  if (/weather/i.test(question)) return { output: [functionCall("weather", '{"city":"Ghent"}')] };
  if (/refund/i.test(question)) return { output: [functionCall("refund", '{"amount":250}')] };
  const seen = /input_image|image_url/.test(question) ? "I see an image." : "I can tell the weather, and refund money.";
  return { output: [message(`${seen} This is answer number ${items.length}, and it takes a moment to arrive.`)] };
}

const textIn = (item: string): string => /"output":"([^"]*)"/.exec(item)?.[1] ?? "nothing";
