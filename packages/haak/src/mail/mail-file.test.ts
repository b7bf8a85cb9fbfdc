import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratchFolder } from "../../test/scratch.ts";
import { MAIL_LIMITS, type MailLimits, mailFile, messageLine, parseMessage } from "./mail-file.ts";

async function writtenFile(content: string | Buffer, limits: Partial<MailLimits> = {}) {
  const path = join(await scratchFolder(), "agent-mailbox.jsonl");
  writeFileSync(path, content);
  const file = mailFile(path, { ...MAIL_LIMITS, ...limits });
  return { path, file, bodies: async () => (await file.read()).messages.map(({ body }) => body) };
}

function line(body: string, more: object = {}): string {
  return `${JSON.stringify({ from: "reed", to: "coder", body, ...more })}\n`;
}

describe("the file of a mailbox", () => {
  test("is read again after another program has appended to it", async () => {
    const { path, bodies } = await writtenFile(line("one"));
    expect(await bodies()).toEqual(["one"]);
    appendFileSync(path, line("two"));
    expect(await bodies()).toEqual(["one", "two"]);
  });

  test("is cached until it changes", async () => {
    const { file } = await writtenFile(line("one"));
    const [first, second] = await Promise.all([file.read(), file.read()]);
    expect(second).toBe(first);
    expect(await file.read()).toBe(first);
  });

  test("may be missing", async () => {
    const file = mailFile(join(await scratchFolder(), "nothing"), MAIL_LIMITS);
    expect(await file.read()).toEqual({ messages: [], faults: [] });
  });

  test("may end inside a line, which is read once it is complete", async () => {
    const [whole, rest] = [line("one"), line("zwölf")];
    // Inside a character.
    const cut = Buffer.from(rest).indexOf("ö") + 1;
    const { path, file, bodies } = await writtenFile(
      Buffer.concat([Buffer.from(whole), Buffer.from(rest).subarray(0, cut)]),
    );
    expect(await file.read()).toMatchObject({ messages: [{ body: "one" }], faults: [] });
    appendFileSync(path, Buffer.from(rest).subarray(cut));
    expect(await bodies()).toEqual(["one", "zwölf"]);
  });

  test("has a last message without a newline", async () => {
    const { bodies } = await writtenFile(line("one").trimEnd());
    expect(await bodies()).toEqual(["one"]);
  });

  test("skips lines that are no messages and reports them", async () => {
    const bad = Buffer.concat([
      Buffer.from("{\n\n\u202enot json\n"),
      Buffer.from([0xff, 0x0a]),
      Buffer.from(line("x".repeat(200))),
    ]);
    const { file, path } = await writtenFile(Buffer.concat([bad, Buffer.from(line("good"))]), {
      maxLineBytes: 100,
    });
    const before = readFileSync(path);
    const { messages, faults } = await file.read();
    expect(messages).toMatchObject([{ body: "good" }]);
    expect(faults).toEqual([
      'a line that is no message: "{"',
      'a line that is no message: "\\u202enot json"',
      "a line that is not UTF-8",
      "a line that is too long",
    ]);
    expect(readFileSync(path)).toEqual(before);
  });

  test("is read completely across chunks, with lines of any length", async () => {
    const lengths = [1, 65_400, 65_536, 131_072, 200_000, 300_000, 5, 70_000];
    const { file } = await writtenFile(lengths.map((length) => line("x".repeat(length))).join(""));
    const { messages, faults } = await file.read();
    expect(messages.map(({ body }) => body.length)).toEqual(lengths.filter((length) => length < 262_144));
    expect(faults).toEqual(["a line that is too long"]);
  });

  test("reports at most twenty faults", async () => {
    const { file } = await writtenFile("rubbish\n".repeat(1_000));
    expect((await file.read()).faults).toHaveLength(20);
  });

  test("is rejected if it is too large", async () => {
    const { file } = await writtenFile(line("one").repeat(100), { maxFileBytes: 1 << 10 });
    await expect(file.read()).rejects.toMatchObject({
      code: "full",
      message: expect.stringContaining("move its old lines"),
    });
  });
});

describe("messages with the same content", () => {
  test("are separate messages", async () => {
    const { path, file } = await writtenFile(line("ping") + line("ping") + line("pong"));
    const ids = (await file.read()).messages.map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    appendFileSync(path, line("ping"));
    expect((await file.read()).messages.map(({ id }) => id).slice(0, 3)).toEqual(ids);
  });

  test("keep their ids when a program marks the first as read", async () => {
    const { path, file } = await writtenFile(line("ping") + line("ping"));
    const before = (await file.read()).messages.map(({ id }) => id);
    writeFileSync(path, line("ping", { read: true }) + line("ping"));
    const after = (await file.read()).messages;
    expect(after.map(({ id }) => id)).toEqual(before);
    expect(after.map(({ read }) => read)).toEqual([true, false]);
  });
});

const LETTER = {
  from: "reed",
  to: "coder",
  subject: "hello",
  body: "how are you?",
  timestamp: "2026-01-02T03:04:05Z",
};

function read(line: object) {
  return parseMessage(JSON.stringify(line))!;
}

describe("a line of the mailbox", () => {
  test("may have unknown members", () => {
    const message = read({ ...LETTER, thread: 7, labels: ["a"] });
    expect(message).toMatchObject({ ...LETTER, to: ["coder"], read: false });
  });

  test("needs nothing but a receiver", () => {
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
  ])("is not a message: %s", (line) => {
    expect(parseMessage(line)).toBeUndefined();
  });
});

describe("the id of a message", () => {
  test("stays when another program rewrites the line", () => {
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
  ])("differs with another %s", (_, difference) => {
    expect(read({ ...LETTER, ...difference }).id).not.toBe(read(LETTER).id);
  });

  test("differs for messages whose lines claim the same id", () => {
    expect(read({ ...LETTER, id: "1" }).id).not.toBe(read({ ...LETTER, id: "1", body: "mine" }).id);
  });

  test("exists for text with half of a surrogate pair", () => {
    expect(read({ ...LETTER, body: "\ud800" }).id).not.toBe(read({ ...LETTER, body: "\ud801" }).id);
  });
});

const STAMP = { id: "one", timestamp: "2026-01-02T03:04:05.000Z" };
const OUTGOING = { from: "reed", to: "coder", subject: "hello", body: "how\nare you?" };

function lineFor(difference: Partial<typeof OUTGOING> = {}): string {
  return messageLine({ ...OUTGOING, ...difference }, STAMP, MAIL_LIMITS);
}

test("a sent message is one line and parses to the same message", () => {
  expect(lineFor()).not.toContain("\n");
  expect(parseMessage(lineFor())).toMatchObject({
    ...OUTGOING,
    to: ["coder"],
    timestamp: STAMP.timestamp,
    read: false,
  });
});

test("the longest message that can be sent can be read", () => {
  const body = "\u0001".repeat(MAIL_LIMITS.maxBodyBytes);
  expect(Buffer.byteLength(lineFor({ body }))).toBeLessThan(MAIL_LIMITS.maxLineBytes);
});

test.each([
  [{ from: "" }, "a message needs a sender"],
  [{ to: "" }, "a message needs a sender and a receiver"],
  [{ body: " \n" }, "a message needs a text"],
  [{ body: "ä".repeat(MAIL_LIMITS.maxBodyBytes) }, "the body has 32768 bytes, and may have 16384"],
  [{ subject: "x".repeat(2_000) }, "the subject has 2000 bytes"],
  [{ to: "x".repeat(2_000) }, "the to has 2000 bytes"],
])("an invalid message is rejected: %#", (difference, message) => {
  expect(() => lineFor(difference)).toThrow(message);
});
