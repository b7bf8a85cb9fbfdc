import { expect, test } from "vitest";
import { MAIL_LIMITS } from "./limits.ts";
import { readMessage } from "./message.ts";
import { outgoingLine } from "./outgoing.ts";

const STAMP = { id: "one", timestamp: "2026-01-02T03:04:05.000Z" };
const LETTER = { from: "reed", to: "coder", subject: "hello", body: "how\nare you?" };

function lineFor(difference: Partial<typeof LETTER> = {}): string {
  return outgoingLine({ ...LETTER, ...difference }, STAMP, MAIL_LIMITS);
}

test("a message that is sent is one line, which says the same when read", () => {
  expect(lineFor()).not.toContain("\n");
  expect(readMessage(lineFor())).toMatchObject({
    ...LETTER,
    to: ["coder"],
    timestamp: STAMP.timestamp,
    read: false,
  });
});

test("the longest message that can be sent is short enough to be read", () => {
  const body = "\u0001".repeat(MAIL_LIMITS.maxBodyBytes);
  expect(Buffer.byteLength(lineFor({ body }))).toBeLessThan(MAIL_LIMITS.maxLineBytes);
});

test.each([
  [{ from: "" }, "a message needs a sender"],
  [{ to: "" }, "a message needs a sender and somebody to go to"],
  [{ body: " \n" }, "a message needs a text"],
  [{ body: "ä".repeat(MAIL_LIMITS.maxBodyBytes) }, "the body has 32768 bytes, and may have 16384"],
  [{ subject: "x".repeat(2_000) }, "the subject has 2000 bytes"],
  [{ to: "x".repeat(2_000) }, "the to has 2000 bytes"],
])("what cannot be sent is refused: %#", (difference, message) => {
  expect(() => lineFor(difference)).toThrow(message);
});
