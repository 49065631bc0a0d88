import type { Refusal } from "../refusals.ts";

/** A rejection by Google's API (`google.rpc.Status`). */
function said(message: string, { code = 400, status = "INVALID_ARGUMENT" } = {}): Refusal {
  return { status: code, body: { error: { code, message, status } } };
}

export const badBody = (): Refusal => said("Invalid JSON payload received. Expected an object.");

export const unknownName = (name: string): Refusal =>
  said(`Invalid JSON payload received. Unknown name "${name}": Cannot find field.`);

export const unknownModel = (model: string): Refusal =>
  said(
    `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
    { code: 404, status: "NOT_FOUND" },
  );

export const unauthenticated = (): Refusal =>
  said(
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
    { code: 401, status: "UNAUTHENTICATED" },
  );

export const noContents = (): Refusal => said("* GenerateContentRequest.contents: contents is not specified\n");

export const noParts = (at: number): Refusal =>
  said(`* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.\n`);

export const noData = (at: number, part: number): Refusal =>
  said(
    `* GenerateContentRequest.contents[${at}].parts[${part}].data: required oneof field 'data' must have one initialized field\n`,
  );

export const unknownRole = (): Refusal => said("Please use a valid role: user, model.");

export const callOutOfPlace = (): Refusal =>
  said("Please ensure that function call turn comes immediately after a user turn or after a function response turn.");

export const resultOutOfPlace = (): Refusal =>
  said("Please ensure that function response turn comes immediately after a function call turn.");

export const unequalResults = (): Refusal =>
  said(
    "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
  );

export const unsignedCall = (name: string, position: number): Refusal =>
  said(`Function call \`${name}\` in the ${position}. content block is missing a \`thought_signature\`.`);

export const badSignature = (): Refusal => said("Thought signature is not valid.");

/** Sizes are in the server's own tokens. */
export const tooLong = (tokens: number, max: number): Refusal =>
  said(`The input token count (${tokens}) exceeds the maximum number of tokens allowed (${max}).`);

export const failed = (message: string): Refusal => said(message, { code: 500, status: "INTERNAL" });
