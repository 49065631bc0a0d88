import { ProviderError } from "../../engine/ports/provider-error.ts";
import { withMessage } from "../failures/classify-error.ts";

/** Adds advice to a known error of Ollama; any other value stays as it is. */
export function advised(error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  const { message } = error;
  const [, model] = /^model ['"](.+)['"] not found/.exec(message) ?? [];
  if (model !== undefined)
    return withMessage(
      error,
      `model '${model}' not found: run 'ollama pull ${model}', or give a model that 'ollama list' shows`,
    );
  if (error.kind === "context-length-exceeded")
    return withMessage(
      error,
      `${message}: raise options.num_ctx, or make the Turn shorter (createEngine({ compact }))`,
    );
  if (message.startsWith("cannot reach the provider"))
    return withMessage(error, `${message}: is Ollama running there? start it with 'ollama serve', or give its baseURL`);
  return error;
}
