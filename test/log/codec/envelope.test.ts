import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../../../src/base/canonical-json.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { chainDigest, checkEnvelope, firstPrevious } from "../../../src/log/codec/envelope.ts";
import type { Envelope, Head } from "../../../src/log/ports/event-store.ts";
import { prepared } from "../../../src/testing/contracts/prepared.ts";

const envelopes = fc.record({
  id: fc.uuid(),
  stream: fc.string(),
  revision: fc.nat(),
  type: fc.string({ unit: "binary" }),
  version: fc.nat(),
  at: fc.string(),
  actor: fc.oneof(
    fc.constant({ kind: "engine" } as const),
    fc.record({ kind: fc.constant("user" as const), name: fc.string() }),
    fc.record({ kind: fc.constant("provider" as const), name: fc.string(), inferenceId: fc.string() }),
  ),
  encoding: fc.constant("json" as const),
  dataDigest: fc.string(),
});
const text = fc.string();
const extras = fc.record(
  { runId: text, frame: text, causationId: text, tenant: text, keyId: text, nonce: text },
  { requiredKeys: [] },
);

test("hashes the canonical JSON of the envelope after the previous digest", () => {
  fc.assert(
    fc.property(envelopes, extras, fc.string(), (envelope, extra, previous) => {
      const hashed = { ...envelope, ...extra };
      const stored = { ...hashed, data: "x", digest: "y", position: "1" };
      const expected = sha256Hex(`turnlog/event/v1\n${previous}\n${canonicalJson(hashed)}`);
      expect(chainDigest(previous, stored)).toBe(expected);
    }),
  );
});

test("begins a chain with the stream's name", () => {
  expect(firstPrevious("conversation-x")).toBe(sha256Hex("turnlog/stream/v1\nconversation-x"));
});

// Computed with Python from the rule "Envelope and hash chain".
test("keeps the digests of the first version for ever", () => {
  const [first] = prepared({
    stream: "conversation-cnv_golden",
    extra: { id: "01923456-789a-7000-8000-0123456789ab" },
  }).envelopes;
  expect(first?.dataDigest).toBe("f3013f933b9fb80ab6d995e7ad9da36f683837ba1d81e950c943d40111eac2f0");
  expect(first?.digest).toBe("549ba47d63348cc4ae8e8c91e27acf15df2bf3300da4329611d923f474179992");
});

test("accepts a chain as it was written, event by event", () => {
  const { envelopes: written } = prepared({ count: 5 });
  let head: Head | null = null;
  for (const envelope of written) {
    const checked = checkEnvelope(head, envelope);
    expect(checked).toEqual({ ok: true, value: { revision: envelope.revision, digest: envelope.digest } });
    if (checked.ok) head = checked.value;
  }
});

const changes: Record<string, Partial<Envelope>> = {
  id: { id: "01923456-789a-7000-8000-0123456789ab" },
  stream: { stream: "conversation-other" },
  type: { type: "Other" },
  version: { version: 2 },
  at: { at: "2026-01-01T00:00:00.001Z" },
  actor: { actor: { kind: "user" } },
  runId: { runId: "run_2" },
  frame: { frame: "0.2" },
  causationId: { causationId: "x" },
  tenant: { tenant: "x" },
  keyId: { keyId: "x" },
  nonce: { nonce: "x" },
  data: { data: "{}" },
  dataDigest: { dataDigest: sha256Hex("{}") },
  "data and its digest": { data: "{}", dataDigest: sha256Hex("{}") },
  digest: { digest: sha256Hex("x") },
};

test.each(Object.entries(changes))("notices a changed %s", (_, change) => {
  for (const head of [null, { revision: 4, digest: sha256Hex("before") }]) {
    const [envelope] = prepared({ expected: head, extra: { runId: "run_1", frame: "0.1" } }).envelopes;
    if (envelope === undefined) throw new Error("one event was prepared");
    expect(checkEnvelope(head, envelope).ok).toBe(true);
    expect(checkEnvelope(head, { ...envelope, ...change }).ok).toBe(false);
  }
});

test("notices a removed, repeated or swapped event, and an event after another head", () => {
  const [first, second, third] = prepared({ count: 3 }).envelopes;
  if (first === undefined || second === undefined || third === undefined) throw new Error("three events were prepared");
  const head = { revision: first.revision, digest: first.digest };
  expect(checkEnvelope(null, second)).toMatchObject({ error: { reason: "revision 1 stands where 0 is due" } });
  expect(checkEnvelope(head, third).ok).toBe(false);
  expect(checkEnvelope(head, first).ok).toBe(false);
  expect(checkEnvelope(head, second).ok).toBe(true);
  expect(checkEnvelope({ ...head, digest: sha256Hex("other") }, second).ok).toBe(false);
});
