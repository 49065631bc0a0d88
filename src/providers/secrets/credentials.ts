import { SecretReference } from "../../domain/secret-reference.ts";
import type { Secrets } from "../settings/connection-options.ts";
import type { Masked } from "./secret-spans.ts";
import { secretLengthMin, secretValue } from "./secret-values.ts";

/** The caller's headers with the values of their secrets. */
export const filledHeaders = (
  headers: Readonly<Record<string, string | SecretReference>>,
  secrets: Secrets,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, secretValue(`headers.${name}`, value, secrets)] as const),
  );

/** The values of headers that hold credentials, by name or because they are secrets. */
export const headerCredentials = (
  headers: Readonly<Record<string, string | SecretReference>>,
  secrets: Secrets = {},
): Masked =>
  longEnough(
    Object.entries(headers).flatMap(([name, given]) => {
      const isSecret = given instanceof SecretReference;
      if (!isSecret && !isCredentialName(name)) return [];
      const value = secretValue(`headers.${name}`, given, secrets);
      // A server may repeat `Bearer TOKEN` or only the token.
      return [value, value.slice(value.lastIndexOf(" ") + 1)].map((text) => ({
        name: isSecret ? given.$secret : `headers.${name}`,
        value: text,
      }));
    }),
  );

/** The query of an address, and each value in it, because any of them may be a gateway's key. */
export const queryCredentials = (address: string): Masked => {
  if (!URL.canParse(address)) return [];
  const { search, searchParams } = new URL(address);
  const values = [...searchParams].filter(([name, value]) => !(name === "api-version" && isVersion.test(value)));
  const texts = values.length === 0 ? [] : [search, ...values.map(([, value]) => value)];
  return longEnough(texts.map((value) => ({ name: "baseURL", value })));
};

/** Azure's refusals repeat the API version, which has to stay readable. */
const isVersion = /^(\d{4}-\d\d-\d\d)?-?(preview)?$/;

/** The values of variables that are named like credentials. */
export const variableCredentials = (variables: Readonly<Record<string, string | undefined>>): Masked =>
  longEnough(
    Object.entries(variables).flatMap(([name, value = ""]) => (isCredentialName(name) ? [{ name, value }] : [])),
  );

export const longEnough = (values: Masked): Masked => values.filter(({ value }) => value.length >= secretLengthMin);

/** Whether a header, or a member of an address's query, is named like a credential. */
export const isCredentialName = (name: string): boolean =>
  /(authorization|key|token|secret|password|signature|sig|cookie|credentials?)$/i.test(name);
