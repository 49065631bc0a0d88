import {
  type Expected,
  type Fault,
  type ReferenceServerOptions,
  readItems,
  type ScriptedAnswer,
  startReferenceServer,
} from "../../packages/reference-server/src/server.ts";
import type { JsonObject, JsonValue } from "../../src/base/json.ts";
import type { Turn } from "../../src/domain/turn.ts";
import type { Mode } from "../../src/engine/options/chain-policy.ts";
import type { Codec } from "../../src/engine/ports/codec.ts";
import type { Provider } from "../../src/engine/ports/provider.ts";
import type { Entry } from "../../src/testing/rehearsal/entries.ts";
import type { Expected as Told } from "../../src/testing/rehearsal/expected.ts";

/** What a model knows when it answers: the lines that it reads, how many of them are results, and the request as it came. */
export type Question = { readonly lines: readonly string[]; readonly results: number; readonly bodyText: string };

/** A server of a dialect, and what a test may ask it. */
export type Front = AsyncDisposable & {
  readonly url: string;
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly bodyText: string;
    readonly body: JsonValue | undefined;
    readonly status: number;
    readonly hasFaultFired: boolean;
  }[];
  /** What the model read for a request, in lines; undefined where nothing was inferred. */
  lines(index: number): readonly string[] | undefined;
  responseIds(): readonly string[];
  forget(responseId: string): void;
  inject(...faults: readonly Fault[]): void;
  /** Cuts every connection that is kept open. */
  cut(): void;
  clear(): void;
};

type AskedAs = {
  readonly model: string;
  readonly instructions?: string;
  readonly systemAs?: "input" | "instructions";
  readonly transport?: "json" | "sse" | "websocket";
  readonly store?: false;
};

/** A wire that the suites of the laws are played on. */
export type Dialect = {
  readonly codecs: readonly Codec[];
  /** Whether it names items by their ids. */
  readonly hasIds: boolean;
  /** Whether a message of the model has a phase. */
  readonly hasPhases: boolean;
  readonly resultsStandTogether: boolean;
  /** Whether the model says items that a server's own tools made. */
  readonly hasHosted: boolean;
  /** The model runs its tools by itself: an engine has none to offer. */
  readonly hasOwnTools?: true;
  /** What the model of this wire says where the script has it say this. */
  readonly says?: (answer: ScriptedAnswer) => ScriptedAnswer;
  /** Whether system messages at the beginning go with the instructions whatever was asked, each by itself. */
  readonly systemStandsFirst?: true;
  /** What a run's mode is drawn from. */
  readonly modes: readonly Mode[];
  /** What a run's way of sending is drawn from. */
  readonly transports: readonly ("json" | "sse" | "websocket")[];
  /** A server that answers so; the ids that it makes up are of its seed. */
  start(answer: (question: () => Question) => ScriptedAnswer, seed?: string, untidy?: string): Promise<Front>;
  provider(url: string, asked: AskedAs): Provider;
  /** Reasoning is left out where the server would refuse it, which the judge does not know. */
  readonly leavesReasoning?: true;
  /** What the wire has a form for, where that is not everything; null: nothing of it. */
  readonly takes?: (entry: Entry) => Entry | null;
  /** What the model reads of what was said, where that is not everything as it was said; instructions are then a message. */
  readonly reads?: (said: readonly Told[]) => readonly Told[];
  /** What a recorded body and the received one both say, where they are not one text. */
  readonly told?: (bodyText: string) => string;
  /** What a Turn says, whatever ids the wire gave to its calls. */
  readonly essence: (turn: Turn) => string;
  /** A function tool as the model reads it. */
  toolRead(tool: { readonly name: string; readonly description: string; readonly parameters: JsonObject }): Expected;
};

/** A wire that the reference server speaks. */
export function referenceDialect(
  wire: Omit<Dialect, "start" | "essence"> & { readonly essence?: Dialect["essence"] },
  options: Partial<ReferenceServerOptions> = {},
): Dialect {
  return {
    essence: saidWithoutIds,
    ...wire,
    async start(answer, seed = "dialect", untidy?: string) {
      const { says = (said: ScriptedAnswer) => said } = wire;
      const server = await startReferenceServer({
        seed,
        ...(untidy === undefined ? {} : { untidy }),
        ...options,
        answer: ({ reading, body }) =>
          says(
            answer(() => ({
              lines: readItems(reading.items, reading),
              results: reading.items.filter((item) => item["type"] === "function_call_output").length,
              bodyText: JSON.stringify([body, reading.items]),
            })),
          ),
      });
      return {
        ...server,
        url: server.baseUrl,
        cut() {
          server.sockets.cut();
        },
        lines(index) {
          const reading = server.reading(index);
          return reading === undefined ? undefined : readItems(reading.items, reading);
        },
      };
    },
  };
}

/** The contents of a Turn. Its own digest is over names, and every conversation has names of its own. */
export const equalContents = ({ blocks }: Turn): string => blocks.map(({ digest }) => digest).join();

/** What a Turn says, whatever the ids of its calls are. */
export function saidWithoutIds({ blocks }: Turn): string {
  const places = blocks.map(({ callId }, place) =>
    blocks.slice(0, place).findLastIndex((block) => block.callId === callId),
  );
  return JSON.stringify(blocks.map((block, n) => [block.kind, block.name, block.text, block.callId && places[n]]));
}
