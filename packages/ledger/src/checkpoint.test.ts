import { createPrivateKey, createPublicKey } from "node:crypto";
import { expect, test } from "vitest";
import { openCheckpoint, readCheckpoint, signCheckpoint, verifierKey } from "./checkpoint.ts";
import { Checkpointer } from "./ledger.ts";

/** RFC 8032 §7.1, test 1. */
const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
const publicBytes = Buffer.from("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "hex");
const privateKey = createPrivateKey({
  format: "jwk",
  key: { kty: "OKP", crv: "Ed25519", d: seed.toString("base64url"), x: publicBytes.toString("base64url") },
});
const checkpoint = { origin: "reins/test", size: 7, root: Buffer.alloc(32, 1) };
const logKey = verifierKey("reins/test", publicBytes);

test("a note is text, an empty line and a signature line", () => {
  const note = signCheckpoint(checkpoint, privateKey);
  expect(note).toMatch(/^reins\/test\n7\nAQEB[A-Za-z0-9+/]+=\n\n\u2014 reins\/test [A-Za-z0-9+/]+=*\n$/);
  expect(openCheckpoint(note, logKey)).toEqual(checkpoint);
  expect(readCheckpoint(note)).toEqual(checkpoint);
});

test("the verifier key of the C2SP example is read as written there", () => {
  const example = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  const note =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
  expect(
    verifierKey("PeterNeumann", Buffer.from(example.split("+").slice(2).join("+"), "base64").subarray(1)),
  ).toBe(example);
  expect(() => openCheckpoint(note, example)).toThrow("this is no checkpoint");
  expect(() => openCheckpoint(note.replace("answer", "Answer"), example)).toThrow("not signed by");
});

test("any change of text, key or signature is found", () => {
  const note = signCheckpoint(checkpoint, privateKey);
  const other = verifierKey(
    "reins/test",
    createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(0, 32),
  );
  expect(() => openCheckpoint(note.replace("\n7\n", "\n8\n"), logKey)).toThrow("not signed by");
  expect(() => openCheckpoint(note, other)).toThrow("not signed by");
  expect(() => openCheckpoint(note.slice(0, -3), logKey)).toThrow("not signed by");
  expect(() => readCheckpoint("nonsense")).toThrow("this is no checkpoint");
});

/** A checkpointer with a manual clock that fails a given number of times. */
function checkpointer({ failures = 0 } = {}) {
  const [timers, made] = [new Set<() => void>(), [] as string[]];
  const clock = {
    now: () => new Date(0),
    after(_milliseconds: number, run: () => void) {
      timers.add(run);
      return () => void timers.delete(run);
    },
  };
  const make = async () => {
    made.push(failures > 0 ? "failed" : "made");
    failures -= 1;
    return made.at(-1) === "made";
  };
  const goOff = () => {
    for (const run of timers) run();
  };
  return { checkpointer: new Checkpointer(make, clock), made, goOff, timers };
}

test("many entries are covered by one checkpoint, and none is made when there is nothing new", async () => {
  const { checkpointer: checkpoints, made, goOff, timers } = checkpointer();
  await checkpoints.flush();
  checkpoints.due();
  checkpoints.due();
  goOff();
  await checkpoints.flush();
  expect(made).toEqual(["made"]);
  expect(timers).toHaveLength(0);
});

test("one that could not be made is made when it is asked for next, without a new entry", async () => {
  const { checkpointer: checkpoints, made } = checkpointer({ failures: 1 });
  checkpoints.due();
  await checkpoints.flush();
  expect(made).toEqual(["failed"]);
  await checkpoints.flush();
  await checkpoints.flush();
  expect(made).toEqual(["failed", "made"]);
});
