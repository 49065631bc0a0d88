/** A provider was configured with what cannot be sent, or must not be recorded. */
export class ProviderSettingsError extends Error {
  override readonly name = "ProviderSettingsError";
  readonly code = "provider-settings";
}
