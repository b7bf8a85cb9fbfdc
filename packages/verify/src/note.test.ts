import { describe, expect, it } from "vitest";
import { ORIGIN } from "../test/ledger-maker.ts";
import { Signer } from "../test/signer.ts";
import { utf8 } from "./bytes.ts";
import { isSignedBy, readCheckpoint, readLogKey, readNote } from "./note.ts";
import { webCrypto } from "./signature.ts";

/** The example that the documentation of Go's sumdb/note, where the format comes from, gives. */
const EXAMPLE_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const EXAMPLE_TEXT =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const EXAMPLE_NOTE = `${EXAMPLE_TEXT}
— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`;

it("opens the example of the format", async () => {
  const [key, note] = [readLogKey(EXAMPLE_KEY)!, readNote(EXAMPLE_NOTE)!];
  expect(note).toMatchObject({ text: EXAMPLE_TEXT, name: "PeterNeumann", keyHash: key.hash });
  const claim = { publicKey: key.publicKey, signature: note.signature };
  expect(await webCrypto.check({ ...claim, message: utf8(note.text) })).toBe(true);
  expect(await webCrypto.check({ ...claim, message: utf8(note.text.toUpperCase()) })).toBe(false);
});

describe("a verifier key", () => {
  it.each([
    ["of another type", "TEST+00000000+AgcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6"],
    ["with a wrong hash", EXAMPLE_KEY.replace("c74f20a3", "c74f20a4")],
    ["under another name", EXAMPLE_KEY.replace("Peter", "Paul")],
    ["cut off", EXAMPLE_KEY.slice(0, -1)],
    ["with more behind it", `${EXAMPLE_KEY}AAAA`],
    ["with a space", ` ${EXAMPLE_KEY}`],
    ["in capitals", EXAMPLE_KEY.replace("c74f20a3", "C74F20A3")],
    ["without a key", "PeterNeumann+c74f20a3+"],
  ])("%s is none", (_, text) => {
    expect(readLogKey(text)).toBeUndefined();
  });

  it("may have a plus in its base64", () => {
    expect(readLogKey("TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6")?.name).toBe("TEST");
  });
});

describe("a checkpoint", () => {
  const signer = new Signer("the log");
  const key = readLogKey(signer.verifierKey(ORIGIN))!;
  const note = signer.checkpoint(ORIGIN, 12, Buffer.alloc(32, 9));

  it("says what it says, and is signed", async () => {
    const checkpoint = readCheckpoint(note)!;
    expect(checkpoint).toMatchObject({ origin: ORIGIN, size: 12, root: new Uint8Array(32).fill(9) });
    expect(await isSignedBy(checkpoint, key)).toBe(true);
  });

  it.each([
    ["a size with a zero in front", note.replace("\n12\n", "\n012\n")],
    ["a size below zero", note.replace("\n12\n", "\n-1\n")],
    ["a size that no number holds", note.replace("\n12\n", "\n9007199254740993\n")],
    ["a fourth line", note.replace("\n\n", "\nmore\n\n")],
    ["a second signature", note + note.slice(note.indexOf("\u2014"))],
    ["no signature", note.slice(0, note.indexOf("\u2014"))],
    ["no newline at the end", note.slice(0, -1)],
    ["a newline too many", `${note}\n`],
    ["carriage returns", note.replaceAll("\n", "\r\n")],
    ["a hyphen for the dash", note.replace("\u2014", "-")],
    ["padding left out", note.replace("=\n\n", "\n\n")],
    ["a short root", note.replace(/\n.+=\n\n/, "\nCQkJ\n\n")],
    ["nothing", ""],
  ])("with %s is none", (_, text) => {
    expect(text).not.toBe(note);
    expect(readCheckpoint(text)).toBeUndefined();
  });

  it("is not signed by a key of another name, or with another key of the same name", async () => {
    const checkpoint = readCheckpoint(note)!;
    expect(await isSignedBy(checkpoint, readLogKey(signer.verifierKey("elsewhere"))!)).toBe(false);
    expect(await isSignedBy(checkpoint, readLogKey(new Signer("thief").verifierKey(ORIGIN))!)).toBe(false);
    const renamed = readCheckpoint(note.replace(`\u2014 ${ORIGIN}`, "\u2014 elsewhere"))!;
    expect(await isSignedBy(renamed, key)).toBe(false);
  });
});
