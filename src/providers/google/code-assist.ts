import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { anything, type OptionTable } from "../../base/options.ts";
import type { Provider } from "../../engine/stack/provider.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import type { Credentials, GeminiConnection, GeminiSettings } from "./gemini-options.ts";
import { geminiProvider, type Wrap } from "./gemini-provider.ts";

/** The options of `googleCodeAssist`. */
export type CodeAssistOptions = GeminiSettings &
  Omit<GeminiConnection, "credentialsOwner"> & {
    /**
     * Gives the OAuth access token of each request. Where the server refuses one with HTTP 401, it is asked once more with
     * `isRefused`, for a token that was refreshed, and the request goes out again.
     */
    readonly credentials: Credentials;
    /** Whose account it is, so that a refreshed token is the same endpoint. */
    readonly credentialsOwner: string;
    /** The project of Google Cloud that requests name. */
    readonly project?: string | undefined;
    /** What is put around the body; `{ model, project, request: body }` when absent. It is not recorded, and has to be the same again. */
    readonly wrap?: Wrap | undefined;
    /** Takes the response, or a chunk of one, out of what comes; the member `response` when absent. */
    readonly unwrap?: ((answer: JsonObject) => JsonObject) | undefined;
    /** What comes behind the base URL; `:generateContent` or `:streamGenerateContent` when absent. */
    readonly path?: ((asked: { readonly model: string; readonly method: string }) => string) | undefined;
  };

const ownOptions: OptionTable<Pick<CodeAssistOptions, "credentials" | "project" | "wrap" | "unwrap" | "path">> = {
  ...{ credentials: anything, project: anything, wrap: anything, unwrap: anything, path: anything },
};

/**
 * A model behind an endpoint in the style of Code Assist (gemini-cli, Apache-2.0): the body of `generateContent` stands within
 * another, and an account's OAuth token is who asks. Recorded is the inner body.
 *
 * @throws {ProviderSettingsError} without credentials, or where a setting cannot be sent.
 */
export function googleCodeAssist(options: CodeAssistOptions): Provider {
  checkGiven("googleCodeAssist", options);
  const { credentials, credentialsOwner, project, path, ...others } = options;
  if (typeof credentials !== "function" || typeof credentialsOwner !== "string" || credentialsOwner === "")
    throw new ProviderSettingsError(
      "googleCodeAssist: give credentials, a function that gives an access token, and credentialsOwner, whose account it is",
    );
  const baseURL = options.baseURL ?? "https://cloudcode-pa.googleapis.com/v1internal";
  // The method follows a colon, which behind a bare host would be a port.
  if (path === undefined && URL.canParse(baseURL) && new URL(baseURL).pathname === "/")
    throw new ProviderSettingsError(
      `googleCodeAssist: baseURL ends with its host: give it with the version, such as ${new URL(baseURL).origin}/v1internal, or give path`,
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

/** What stands beside the response stays with it. */
function responseIn({ response, ...beside }: JsonObject): JsonObject {
  return isJsonObject(response) ? { ...response, ...beside } : beside;
}
