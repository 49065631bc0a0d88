import { ProviderError } from "../../engine/ports/provider-error.ts";
import { type FailedAnswer, providerError, requestIdOf, withMessage } from "../failures/classify-error.ts";
import { isHtmlPage } from "../failures/error-report.ts";
import type { AnswerLimits } from "../settings/answer-limits.ts";
import { MeteredBody } from "./metered-body.ts";

/** The error of an HTTP answer with a status other than 2xx, from its body up to `limits.errorBytes`. */
export async function refusalOf(
  answer: Response,
  limits: AnswerLimits,
  errorOf: (answer: FailedAnswer) => ProviderError = providerError,
): Promise<ProviderError> {
  const { status, headers } = answer;
  const body = await new MeteredBody(answer.body, limits).errorText();
  return isRedirect(status) ? redirected(answer) : placed(errorOf({ status, headers, body }), answer);
}

/** If nothing is at the address, or no API, the message tells the caller to check the address. */
function placed(error: ProviderError, { status, url }: Response): ProviderError {
  const isPage = isHtmlPage(error.message);
  const isNowhere = (status === 404 || status === 405) && (isPage || saysNothing.test(error.message));
  if (!isPage && !isNowhere) return error;
  const said = isPage ? `the provider answered HTTP ${status}: ${error.message}` : error.message;
  return withMessage(error, isNowhere ? `${said}; ${addressAdvice(url)}` : said);
}

/** The messages of servers that do not have the path, and mention no model, response or item. */
const saysNothing = /^(the provider answered HTTP \d+|(404 )?(page )?not[ _]found|method not allowed)\.?$/i;

/** Leaves out the query, which may hold a key. */
export function addressAdvice(url: string): string {
  const asked = URL.canParse(url) ? new URL(url) : null;
  return `${asked === null ? "" : `${asked.origin}${asked.pathname} was asked: `}is the base URL correct?`;
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** Credentials and contents are sent to the given address only. */
function redirected({ status, headers }: Response): ProviderError {
  const location = headers.get("location") ?? "";
  const to = URL.canParse(location) ? new URL(location) : null;
  const where = to === null ? "" : ` to ${to.origin}${to.pathname}`;
  const text = `the provider answered HTTP ${status}, a redirect${where}, which turnlog does not follow: give that address as baseURL`;
  const requestId = requestIdOf(headers);
  return new ProviderError(text, { kind: "invalid-request", outcome: "rejected", status, requestId });
}
