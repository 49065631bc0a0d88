import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { anything, type OptionTable } from "../../base/options.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import type { Credentials, GeminiConnection, GeminiSettings } from "./gemini-options.ts";
import { geminiProvider, type Wrap } from "./gemini-provider.ts";

/** The options of `googleCodeAssist`. */
export type CodeAssistOptions = GeminiSettings &
  Omit<GeminiConnection, "credentialsOwner"> & {
    /**
     * Returns the OAuth access token of each request. If the server rejects a token with HTTP 401, the function is called once more with
     * `isRefused`, for a refreshed token, and the request is sent again.
     */
    readonly credentials: Credentials;
    /** The account that owns the credentials, so that a refreshed token belongs to the same endpoint. */
    readonly credentialsOwner: string;
    /** The Google Cloud project that requests name. */
    readonly project?: string | undefined;
    /**
     * Puts the body into an outer one; `{ model, project, request: body }` by default. It is not recorded, and must return the same each
     * time.
     */
    readonly wrap?: Wrap | undefined;
    /** Extracts the response, or a chunk of one, from the server's answer; the member `response` by default. */
    readonly unwrap?: ((answer: JsonObject) => JsonObject) | undefined;
    /** The part of the address after the base URL; `:generateContent` or `:streamGenerateContent` by default. */
    readonly path?: ((asked: { readonly model: string; readonly method: string }) => string) | undefined;
  };

const ownOptions: OptionTable<Pick<CodeAssistOptions, "credentials" | "project" | "wrap" | "unwrap" | "path">> = {
  ...{ credentials: anything, project: anything, wrap: anything, unwrap: anything, path: anything },
};

/**
 * A model behind an endpoint like Code Assist (gemini-cli, Apache-2.0): the body of `generateContent` is nested in another body, and
 * requests carry an account's OAuth token. The inner body is recorded.
 *
 * @throws {ProviderSettingsError} if there are no credentials, or a setting cannot be sent.
 */
export function googleCodeAssist(options: CodeAssistOptions): Provider {
  checkGiven("googleCodeAssist", options);
  const { credentials, credentialsOwner, project, path, ...others } = options;
  if (typeof credentials !== "function" || typeof credentialsOwner !== "string" || credentialsOwner === "")
    throw new ProviderSettingsError(
      "googleCodeAssist: give credentials, a function that returns an access token, and credentialsOwner, the name of the account",
    );
  const baseURL = options.baseURL ?? "https://cloudcode-pa.googleapis.com/v1internal";
  // The method follows a colon, which would start a port after a bare host.
  if (path === undefined && URL.canParse(baseURL) && new URL(baseURL).pathname === "/")
    throw new ProviderSettingsError(
      `googleCodeAssist: baseURL has no path: give it with the version, such as ${new URL(baseURL).origin}/v1internal, or give path`,
    );
  const named = project === undefined ? {} : { project };
  return geminiProvider(
    { ...others, credentialsOwner },
    {
      ...{ where: "googleCodeAssist", name: "google-code-assist", key: credentials, options: ownOptions },
      baseURL,
      path: path ?? (({ method }) => `:${method}`),
      owner: credentialsOwner,
      header: (token) => ({ authorization: `Bearer ${token}` }),
      wrap: options.wrap ?? ((request, { model }) => ({ model, ...named, request })),
      unwrap: options.unwrap ?? responseIn,
    },
  );
}

/** Keeps the members beside the response. */
function responseIn({ response, ...beside }: JsonObject): JsonObject {
  return isJsonObject(response) ? { ...response, ...beside } : beside;
}
