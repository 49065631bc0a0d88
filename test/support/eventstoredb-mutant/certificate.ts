import { createPublicKey, generateKeyPairSync, sign } from "node:crypto";

/** A certificate for loopback that signs itself, and its key: made afresh for each server, kept nowhere. */
export interface Certificate {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** ASN.1 object identifiers, in their binary form. */
const COMMON_NAME = [0x55, 0x04, 0x03];
const SUBJECT_ALTERNATIVE_NAME = [0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13];
const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];

/** Valid for `localhost` and 127.0.0.1, from 2020 to 2049, so that no test depends on the date. */
export function createCertificate(): Certificate {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicKey = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const name = sequence(der(0x31, sequence(objectId(COMMON_NAME), der(0x0c, Buffer.from("turnlog test server")))));
  const validity = sequence(der(0x17, Buffer.from("200101000000Z")), der(0x17, Buffer.from("491231235959Z")));
  const alternativeNames = sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(
    extension(SUBJECT_ALTERNATIVE_NAME, alternativeNames),
    extension(BASIC_CONSTRAINTS, sequence(der(0x01, Buffer.from([0xff])))),
  );
  const version3 = der(0xa0, integer(2));
  const body = sequence(version3, integer(1), algorithm, name, validity, name, publicKey, der(0xa3, extensions));
  const certificate = sequence(body, algorithm, bits(sign("sha256", body, privateKey)));
  const lines = certificate.toString("base64").replaceAll(/.{1,64}/g, "$&\n");
  return {
    certificatePem: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const integer = (value: number): Buffer => der(0x02, Buffer.from([value]));
const objectId = (bytes: readonly number[]): Buffer => der(0x06, Buffer.from(bytes));
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.from([0]), bytes);
const extension = (id: readonly number[], value: Uint8Array): Buffer => sequence(objectId(id), der(0x04, value));

/** One ASN.1 value in DER: tag, length, contents. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const contents = Buffer.concat(parts);
  const size = contents.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), contents]);
}
