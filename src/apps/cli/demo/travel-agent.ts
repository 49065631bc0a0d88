import {
  type AnswerInput,
  functionCall,
  type JsonObject,
  message,
  reasoning,
  type ScriptedAnswer,
} from "@turnlog/reference-server/server";

/** The answers of the demo's model, by the last message and the number of tool results since. */
const script: readonly { readonly asked: RegExp; readonly answers: readonly ScriptedAnswer[] }[] = [
  {
    asked: /find me a train/i,
    answers: [
      {
        output: [
          reasoning({ summary: "Look up trains and weather at once." }),
          functionCall("trains", '{"from":"Paris","to":"Rome","day":"Friday"}'),
          functionCall("weather", '{"city":"Rome"}'),
        ],
      },
      { output: [message("The 06:26 by Milan arrives at 17:49, for 119 euros. Rome will be sunny, 24 degrees.")] },
    ],
  },
  {
    asked: /hotel/i,
    answers: [
      { output: [functionCall("hotels", '{"city":"Rome","near":"Termini"}')] },
      { output: [message("Hotel Aurora, 300 m from Termini, 94 euros a night.")] },
    ],
  },
  { asked: /book/i, answers: [{ output: [message("That is 119 euros for the 06:26 on Friday. Shall I?")] }] },
  {
    asked: /yes/i,
    answers: [
      { output: [functionCall("book", '{"train":"06:26","day":"Friday"}')] },
      { output: [message("Booked. Your code is K7Q2.")] },
    ],
  },
  { asked: /merci/i, answers: [{ output: [message("Avec plaisir. Votre train part vendredi à 6 h 26.")] }] },
];

/**
 * Plays a small travel agent. It answers by what the model reads and not by the number of the request, so that any client can use a
 * server with it.
 */
export function answerAsTravelAgent({ reading }: Pick<AnswerInput, "reading">): ScriptedAnswer {
  const { items } = reading;
  const asked = items.findLastIndex((item) => item["role"] === "user");
  const text = textOf(items[asked]);
  const results = items.slice(asked + 1).filter((item) => item["type"] === "function_call_output");
  const answers = script.find((entry) => entry.asked.test(text))?.answers ?? [];
  // Results of parallel calls arrive together: the calls of one answer count as one step.
  const step = results.length === 0 ? 0 : answers.length - 1;
  return answers[step] ?? { output: [message(`You said: ${text}`)] };
}

function textOf(item: JsonObject | undefined): string {
  const content = item?.["content"];
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}
