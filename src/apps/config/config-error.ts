import { TurnlogError } from "../../base/turnlog-error.ts";

/** A configuration cannot be used; the message names the file and the key, and says what would do. */
export class ConfigError extends TurnlogError<"config-unusable"> {
  override readonly name = "ConfigError";

  constructor(message: string, options?: ErrorOptions) {
    super("config-unusable", message, options);
  }
}

/** Runs a check of what a file has, and names the file in the error. Other errors than those of checks pass. */
export function inFile<Value>(file: string, check: () => Value): Value {
  try {
    return check();
  } catch (cause) {
    throw isOfCheck(cause) ? new ConfigError(`${file}: ${cause.message}`, { cause }) : cause;
  }
}

/** Whether a check of options threw the error: those of engines are TypeErrors, those of providers have a code. */
export const isOfCheck = (error: unknown): error is Error =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  (error instanceof TurnlogError && (error.code === "provider-settings" || error.code === "mode-unsupported"));
