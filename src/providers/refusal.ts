import { ProviderError } from "../engine/stack/provider.ts";
import type { AnswerLimits } from "./answer-limits.ts";
import { type FailedAnswer, providerError, requestIdOf } from "./classify-error.ts";
import { MeteredBody } from "./metered-body.ts";

/** What an HTTP answer of another status than 2xx says: its whole body, as much of it as `limits.errorBytes` allows. */
export async function refusalOf(
  answer: Response,
  limits: AnswerLimits,
  errorOf: (answer: FailedAnswer) => ProviderError = providerError,
): Promise<ProviderError> {
  const { status, headers } = answer;
  const body = await new MeteredBody(answer.body, limits).errorText();
  return isRedirect(status) ? redirected(answer) : errorOf({ status, headers, body });
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** Credentials and contents go to the address that was given, and to no other. */
function redirected({ status, headers }: Response): ProviderError {
  const location = headers.get("location") ?? "";
  const to = URL.canParse(location) ? new URL(location) : null;
  const where = to === null ? "" : ` to ${to.origin}${to.pathname}`;
  const text = `the provider answered HTTP ${status}, a redirect${where}, which is not followed: give the address as baseURL`;
  const requestId = requestIdOf(headers);
  return new ProviderError(text, { kind: "invalid-request", outcome: "rejected", status, requestId });
}
