import { type OptionTable, required } from "../../base/options.ts";
import type { Provider } from "../../engine/ports/provider.ts";
import { checkGiven } from "../settings/checked-settings.ts";
import type { KeySource } from "../settings/connection-options.ts";
import { functionOf, namedOf } from "../settings/option-checks.ts";
import { ProviderSettingsError } from "../settings/settings-error.ts";
import type { Credentials, GeminiConnection, GeminiSettings } from "./gemini-options.ts";
import { geminiProvider } from "./gemini-provider.ts";

/** The options of `googleVertex`. */
export type GoogleVertexOptions = GeminiSettings &
  GeminiConnection & {
    readonly project: string;
    /** `global`, or a region such as `europe-west4`. */
    readonly location: string;
    /** Returns the access token of each request; application default credentials, through `google-auth-library`, by default. */
    readonly credentials?: Credentials | undefined;
  };

const ownOptions: OptionTable<Pick<GoogleVertexOptions, "project" | "location" | "credentials">> = {
  project: required(namedOf("the id of the Google Cloud project")),
  location: required(namedOf("'global', or a region such as 'europe-west4'")),
  credentials: functionOf("a function that returns an access token, or leave it out"),
};

/**
 * A Google model on Vertex AI through `generateContent`, with an OAuth token. Without `credentials`, the optional peer
 * `google-auth-library` returns the token; it is loaded with the first request.
 *
 * @throws {ProviderSettingsError} if a setting cannot be sent.
 */
export function googleVertex(options: GoogleVertexOptions): Provider {
  checkGiven("googleVertex", options);
  const { project, location, credentials = defaultCredentials() } = options;
  const host = location === "global" ? "aiplatform.googleapis.com" : `${location}-aiplatform.googleapis.com`;
  const models = `/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}/publishers/google/models/`;
  const base = options.baseURL ?? `https://${host}/v1`;
  return geminiProvider(options, {
    ...{ where: "googleVertex", name: "google-vertex", key: credentials, options: ownOptions },
    baseURL: base,
    path: ({ model, method }) => `${models}${encodeURIComponent(model)}:${method}`,
    owner: `${options.credentialsOwner ?? ""} ${project}/${location}`.trim(),
    header: (token) => ({ authorization: `Bearer ${token}` }),
  });
}

/** The library caches a token while it is valid; if the server rejects it anyway, the library is started anew. */
function defaultCredentials(): KeySource {
  let tokens: Tokens | null = null;
  return async ({ isRefused }) => {
    const kept = isRefused ? null : tokens;
    tokens = kept ?? (await loadTokens());
    const token = await tokens.getAccessToken();
    if (typeof token === "string") return token;
    throw new Error("google-auth-library returned no access token: run `gcloud auth application-default login`");
  };
}

type Tokens = { readonly getAccessToken: () => Promise<string | null | undefined> };

async function loadTokens(): Promise<Tokens> {
  const { GoogleAuth } = await import("google-auth-library").catch((cause: unknown) => {
    const text =
      "googleVertex needs the package google-auth-library: run `npm install google-auth-library`, or give credentials";
    throw new ProviderSettingsError(text, { cause });
  });
  return new GoogleAuth({ scopes: ["https://www.googleapis.com/auth/cloud-platform"] });
}
