import type { Refusal } from "../refusals.ts";

/** A rejection by the Interactions API. */
function said(message: string, { code = "invalid_request", status = 400 } = {}): Refusal {
  return { status, body: { error: { message, code } } };
}

export const badBody = (): Refusal => said("Invalid JSON payload received. Expected an object.");
export const unknownName = (name: string): Refusal => said(`Unknown parameter '${name}'.`);
export const badInput = (): Refusal => said("Invalid input received.");
export const unknownModel = (model: string): Refusal =>
  said(`Model family not found for model ID: ${model}`, { code: "not_found", status: 404 });
export const notFound = (): Refusal => said("Requested entity was not found.", { code: "not_found", status: 404 });

export const resultOutOfPlace = (name: string): Refusal =>
  said(
    `Please ensure that function response turn comes immediately after a function call turn. Got function response with name '${name}'.`,
  );

export const unequalResults = (): Refusal =>
  said(
    "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
  );

export const badSignature = (): Refusal => said("Thought signature is not valid.");

/** Sizes are in the server's own tokens. */
export const tooLong = (tokens: number, max: number): Refusal =>
  said(`The input token count (${tokens}) exceeds the maximum number of tokens allowed (${max}).`);

export const failed = (message: string): Refusal => said(message, { code: "internal_error", status: 500 });
