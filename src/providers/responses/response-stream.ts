import { isJsonList, isJsonObject, type JsonObject, type JsonValue, numberOrZero, objectOf } from "../../base/json.ts";
import type { StreamDelta } from "../../engine/ports/provider.ts";
import type { ProviderError } from "../../engine/ports/provider-error.ts";
import { providerError, withPartial } from "../failures/classify-error.ts";
import { deltasOf, startOf } from "./deltas.ts";
import { tokensIn } from "./responses-answer.ts";

/**
 * Assembles a streamed answer. The response in the terminal event is recorded; earlier events are for listeners, and are all that remains
 * of a stream that is cut off. Events are joined by `output_index`, because some servers change the item id between events of one item.
 */
export class ResponseStream {
  readonly #onDelta: (delta: StreamDelta) => void;
  readonly #itemBytes: number;
  readonly #done = new Map<number, JsonObject>();
  readonly #open = new Map<number, { item: JsonObject; text: string }>();
  readonly #spoken = new Set<number>();
  #openBytes = 0;
  #lastNumber: number | null;
  #skipUpTo = -1;

  /**
   * @param itemBytes - The limit for the text of an item that is not complete.
   * @param cursor - The number of the last event that was already read elsewhere.
   */
  constructor(
    onDelta: (delta: StreamDelta) => void,
    itemBytes = Number.POSITIVE_INFINITY,
    cursor: number | null = null,
  ) {
    this.#onDelta = onDelta;
    this.#itemBytes = itemBytes;
    this.#lastNumber = cursor;
  }

  /** The number of the last event; null if the server does not number them. */
  get cursor(): number | null {
    return this.#lastNumber;
  }

  /** Prepares to resume a stream that was cut off: skips the events that were read, wherever the server begins. */
  takeUp(): void {
    this.#skipUpTo = this.#lastNumber ?? -1;
  }

  /**
   * Takes an event; returns the final response after the terminal event, and null before.
   *
   * @throws {ProviderError} for an error event.
   */
  take(name: string | null, event: JsonObject): JsonObject | null {
    const { type: given, response, item, sequence_number: number } = event;
    if (typeof number === "number") {
      if (number <= this.#skipUpTo) return null;
      this.#lastNumber = number;
    }
    const type = typeof given === "string" ? given : (name ?? "");
    const status = terminalStatuses.get(type);
    if (status !== undefined && isJsonObject(response)) return this.#record(response, status);
    this.#count(event["usage"] ?? objectOf(response)["usage"]);
    const isError = type === "error" || type === "response.failed";
    const isUnnamed = given === undefined && !(name ?? "").startsWith("response.");
    if (isError || (isUnnamed && (event["error"] ?? null) !== null)) throw this.failure(event);
    const index = numberOrZero(event["output_index"]);
    if (type === "response.output_item.added" && isJsonObject(item)) this.#begin(index, item);
    else if (type === "response.output_item.done" && isJsonObject(item)) this.#finish(index, item);
    else this.#speak(type, index, event["delta"]);
    return null;
  }

  /** Whether the text of an incomplete item exceeds its limit. */
  get isTooLarge(): boolean {
    return this.#openBytes > this.#itemBytes;
  }

  /** The error that the server reported, with the answer so far. */
  failure(body: JsonValue, headers: Pick<Headers, "get"> | null = null): ProviderError {
    const error = providerError({ body, headers });
    return this.partial.length === 0 ? error : withPartial(error, this.partial);
  }

  /** The complete items, and incomplete messages with their text so far. */
  get partial(): readonly JsonObject[] {
    const unfinished = [...this.#open].flatMap(([index, { item, text }]): [number, JsonObject][] => {
      const isText = item["type"] === "message" && text !== "";
      return isText ? [[index, { ...item, content: [{ type: "output_text", text, annotations: [] }] }]] : [];
    });
    return inOrder([...this.#done, ...unfinished]);
  }

  /** The type of the event decides how the response ended, whatever status the response has. */
  #record(given: JsonObject, status: string | null): JsonObject {
    const response = status === null || given["status"] === status ? given : { ...given, status };
    const { output } = response;
    // Some backends stream items and leave them out of the terminal event.
    const isBare = !isJsonList(output) || !output.some(isJsonObject);
    return isBare && this.#done.size > 0 ? { ...response, output: inOrder([...this.#done]) } : response;
  }

  #begin(index: number, item: JsonObject): void {
    this.#open.set(index, { item, text: "" });
    for (const start of startOf(item, index)) this.#onDelta(start);
  }

  #finish(index: number, item: JsonObject): void {
    if (!this.#spoken.has(index)) for (const delta of deltasOf(item, index)) this.#onDelta(delta);
    this.#open.delete(index);
    this.#done.set(index, item);
    this.#onDelta({ type: "item-done", outputIndex: index, item });
  }

  /** Some servers report the usage while the answer comes; each report is the total so far. */
  #count(reported: JsonValue | undefined): void {
    if (!isJsonObject(reported)) return;
    this.#onDelta({ type: "usage", usage: tokensIn(reported), reported });
  }

  #speak(eventType: string, outputIndex: number, text: JsonValue | undefined): void {
    const type = deltaTypes.get(eventType);
    if (type === undefined || typeof text !== "string") return;
    this.#spoken.add(outputIndex);
    const open = this.#open.get(outputIndex);
    if (open !== undefined && eventType === "response.output_text.delta") open.text += text;
    this.#openBytes = Math.max(this.#openBytes, open?.text.length ?? 0);
    this.#onDelta({ type, outputIndex, text });
  }
}

/** The last events of a stream, and the status of their response; for `response.done` the response itself has the status. */
const terminalStatuses: ReadonlyMap<string, string | null> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
  ["response.failed", "failed"],
  ["response.cancelled", "cancelled"],
  ["response.done", null],
]);

const deltaTypes: ReadonlyMap<string, "text-delta" | "reasoning-delta" | "tool-call-delta"> = new Map([
  ["response.output_text.delta", "text-delta"],
  ["response.refusal.delta", "text-delta"],
  ["response.reasoning_text.delta", "reasoning-delta"],
  ["response.reasoning_summary_text.delta", "reasoning-delta"],
  ["response.function_call_arguments.delta", "tool-call-delta"],
  ["response.custom_tool_call_input.delta", "tool-call-delta"],
  ["response.mcp_call_arguments.delta", "tool-call-delta"],
]);

const inOrder = (items: readonly (readonly [number, JsonObject])[]): readonly JsonObject[] =>
  items.toSorted(([left], [right]) => left - right).map(([, item]) => item);
