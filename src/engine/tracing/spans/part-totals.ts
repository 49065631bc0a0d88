import type { ReportedUsage } from "../../../domain/events/shared.ts";
import { addTokens, noTokens, type SpanTokens, tokenAttributes, tokensOf } from "./answer-attributes.ts";
import type { SpanAttributes } from "./span.ts";
import type { SpanOptions } from "./span-options.ts";

/** What a process's part of a run has used. */
export class PartTotals {
  requests = 0;
  tools = 0;
  #tokens: SpanTokens = noTokens;

  answered(usage: ReportedUsage | undefined): void {
    this.#tokens = addTokens(this.#tokens, tokensOf(usage));
  }

  attributes(options: SpanOptions): SpanAttributes {
    return {
      "turnlog.run.requests": this.requests,
      "turnlog.run.tool_calls": this.tools,
      // Langfuse adds up what every span reports.
      ...(options.service === "langfuse" ? {} : tokenAttributes(this.#tokens, options)),
    };
  }
}
