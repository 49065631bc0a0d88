import { TurnlogError } from "../../base/turnlog-error.ts";
/** A provider's options cannot be sent, or must not be recorded. */
export class ProviderSettingsError extends TurnlogError<"provider-settings"> {
  override readonly name = "ProviderSettingsError";

  constructor(message: string, options?: ErrorOptions) {
    super("provider-settings", message, options);
  }
}
