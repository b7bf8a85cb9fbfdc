import { describe, expect, test } from "vitest";
import { readMessage } from "./message.ts";

const LETTER = {
  from: "reed",
  to: "coder",
  subject: "hello",
  body: "how are you?",
  timestamp: "2026-01-02T03:04:05Z",
};

function read(line: object) {
  return readMessage(JSON.stringify(line))!;
}

describe("a line of the mailbox", () => {
  test("is read with members that nobody here knows", () => {
    const message = read({ ...LETTER, thread: 7, labels: ["a"] });
    expect(message).toMatchObject({ ...LETTER, to: ["coder"], read: false });
    expect(message.line).toEqual({ ...LETTER, thread: 7, labels: ["a"] });
  });

  test("needs nothing but somebody to go to", () => {
    expect(read({ to: "coder" })).toMatchObject({
      from: "",
      subject: "",
      body: "",
      timestamp: "",
      read: false,
    });
    expect(read({ to: ["a", "b"], timestamp: 1767323045 })).toMatchObject({
      to: ["a", "b"],
      timestamp: "1767323045",
    });
  });

  test.each([
    "",
    "half {",
    '{"to":"a","body":',
    "null",
    "[]",
    '"to"',
    "{}",
    '{"to":7}',
    '{"to":"a","body":{"rich":true}}',
    '{"to":"a","read":"yes"}',
  ])("is no message: %s", (line) => {
    expect(readMessage(line)).toBeUndefined();
  });
});

describe("the id of a message", () => {
  test("stays when another program writes the line anew", () => {
    const { id } = read(LETTER);
    expect(id).toMatch(/^[0-9a-f]{64}$/);
    const { timestamp, ...rest } = LETTER;
    expect(read({ timestamp, ...rest, read: true, read_at: "now" }).id).toBe(id);
  });

  test.each([
    ["sender", { from: "else" }],
    ["receiver", { to: "else" }],
    ["subject", { subject: "else" }],
    ["text", { body: "else" }],
    ["time", { timestamp: "else" }],
    ["id of its own", { id: "else" }],
  ])("is another with another %s", (_, difference) => {
    expect(read({ ...LETTER, ...difference }).id).not.toBe(read(LETTER).id);
  });

  test("cannot be taken by another message that bears the same id of its own", () => {
    expect(read({ ...LETTER, id: "1" }).id).not.toBe(read({ ...LETTER, id: "1", body: "mine" }).id);
  });

  test("is had also by text with half of a surrogate pair", () => {
    expect(read({ ...LETTER, body: "\ud800" }).id).not.toBe(read({ ...LETTER, body: "\ud801" }).id);
  });
});
