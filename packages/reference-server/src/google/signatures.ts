import { createHmac } from "node:crypto";

/** Signatures that Google's guide allows for a call that Gemini did not make. */
const standIns = new Set(["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"]);

/** Signatures of one server: those of another server do not verify. Both base64 alphabets are accepted. */
export function createSignatures(seed: string) {
  let signed = 0;
  const mac = (payload: string): string => createHmac("sha256", seed).update(payload).digest("base64url").slice(0, 24);
  return {
    sign: (): string => {
      signed += 1;
      return `${mac(`signature ${signed}`)}${Buffer.from(`signature ${signed}`).toString("base64url")}`;
    },
    isAuthentic(given: string): boolean {
      const text = given.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
      return standIns.has(given) || mac(Buffer.from(text.slice(24), "base64url").toString()) === text.slice(0, 24);
    },
  };
}
