import { describe, expect, test } from "vitest";
import { Redactor } from "./redactor.ts";

const redactor = Redactor.create({ values: ["hunter2!xyz", "abab".repeat(50)] });
const TOKEN = `ghp_${"0123456789abcdefghijABCDEFGHIJ012345"}`;

describe("a stream", () => {
  test("holds nothing of ordinary text, and gives the very pieces it got", () => {
    const stream = redactor.stream();
    for (const piece of ["The agent ", "reads ", "a file; it is", " 12 lines long."]) {
      expect(stream.push(piece)).toBe(piece);
      expect(stream.held).toBe(0);
    }
  });

  test("holds what has begun like a secret until it is known", () => {
    const stream = redactor.stream();
    expect(stream.push("use ghp_0123")).toBe("use ghp_");
    expect(stream.held).toBe(4);
    expect(stream.push("456")).toBe("");
    expect(stream.push(" is too short")).toBe("0123456 is too short");
    expect(stream.held).toBe(0);
  });

  test("shows the mark as soon as it is known, and nothing of what follows of the secret", () => {
    const stream = redactor.stream();
    const shown = [TOKEN.slice(0, 10), TOKEN.slice(10, 30), TOKEN.slice(30), "abc", ", done"].map((piece) =>
      stream.push(piece),
    );
    expect(shown).toEqual(["ghp_", "[redacted]", "", "", ", done"]);
  });

  test("holds a value that is known to the letter from its first", () => {
    const stream = redactor.stream();
    expect(["say h", "unter", "2!xy", "z", "!"].map((piece) => stream.push(piece))).toEqual([
      "say ",
      "",
      "",
      "[redacted]",
      "!",
    ]);
  });

  test("is exact to the end of the text, and then begins anew", () => {
    const stream = redactor.stream();
    expect(stream.push("ghp_01234567890123") + stream.end()).toBe("ghp_01234567890123");
    expect(stream.push("4567890123456789") + stream.end()).toBe("4567890123456789");
  });

  test("keeps a character together that is cut in two", () => {
    const stream = redactor.stream();
    expect(stream.push("key \ud83d")).toBe("key ");
    expect(stream.flush()).toBe("");
    expect(stream.push("\udd11 found")).toBe("\ud83d\udd11 found");
  });
});

describe("a pause", () => {
  test("shows what does not look like a secret yet, and hides the rest of it when it comes", () => {
    const stream = redactor.stream();
    expect(stream.push("ghp_01") + stream.flush()).toBe("ghp_01");
    expect(stream.push(TOKEN.slice(6)) + stream.push(".")).toBe("[redacted].");
  });

  test("hides what looks like one, and goes on hiding it", () => {
    const stream = redactor.stream();
    expect(stream.push(TOKEN.slice(0, 15)) + stream.flush()).toBe("ghp_[redacted]");
    expect(stream.push(TOKEN.slice(15, 20)) + stream.flush()).toBe("");
    expect(stream.push(TOKEN.slice(20)) + stream.push(" ok")).toBe(" ok");
  });

  test("after every character shows less than the beginning of a secret", () => {
    const stream = redactor.stream();
    const shown = [...`${TOKEN} hunter2!xyz`].map((piece) => stream.push(piece) + stream.flush()).join("");
    expect(shown).toBe("ghp_012345[redacted] hunt[redacted]");
  });

  test("after every character shows no line of a private key", () => {
    const line = "MIIEpAIBAAKCAQEAtestTESTtestTESTtestTESTtestTESTtestTESTtestTEST";
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${line}\n`.repeat(3)}-----END RSA PRIVATE KEY-----\nok`;
    const stream = redactor.stream();
    const shown = [...key].map((piece) => stream.push(piece) + stream.flush()).join("");
    expect(shown.startsWith(`-----BEGIN RSA PRIVATE KEY-----\n${line.slice(0, 15)}[redacted]-`)).toBe(true);
    expect(shown).not.toContain(line.slice(16, 24));
    expect(shown.endsWith("END RSA PRIVATE KEY-----\nok")).toBe(true);
  });

  test("shows words that only might have gone on as one", () => {
    const stream = redactor.stream();
    const pieces = [
      "run `npm_",
      "config",
      "_get` with the ",
      "token",
      " of the ",
      "user",
      ": password",
      ": ",
      "none",
    ];
    const shown = pieces.map((piece) => stream.push(piece) + stream.flush());
    expect(shown.join("") + stream.end()).toBe(pieces.join(""));
  });
});

describe("the work on a text made to be slow", () => {
  const megabyte = 2 ** 20;
  test.each([
    "a",
    " ",
    "password",
    "password=",
    'password: "',
    "PASSWORD=a",
    "token: a.",
    "eyJ",
    "-eyJ",
    ".eyJaaaaaaaaaa",
    "sk-proj-",
    "sk-proj-aaaaaaaa ",
    "ghp_",
    "AKIA",
    "://a:",
    "://",
    "Bearer a",
    "basic ",
    "cookie: a=",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nProc-Type: a\n",
    "-----BEGIN PRIVATE KEY-----\naaaaaaaaaaaaaaaa",
    "\\",
    '\\"',
    "MTAMTA",
    "-u a:",
    "abab",
    "hunter2!xy",
    "%",
    "1//0",
    "<password>",
    "login a password ",
    "hunter2!xyzAKIA",
    "\u001b[",
  ])("of %j grows no faster than the text", (part) => {
    const effort = (size: number) => {
      const stream = redactor.stream();
      stream.push(part.repeat(Math.ceil(size / part.length)));
      stream.end();
      return stream.effort;
    };
    const [small, large] = [effort(megabyte / 16), effort(megabyte / 8)];
    expect(large).toBeLessThan(2.1 * small);
    expect(large).toBeLessThan((megabyte / 8) * 1_000);
  });

  test.each(["password=", "sk-proj-", ".eyJaaaaaaaaaa"])("is bounded for megabytes of %j", (part) => {
    const effort = (size: number) => {
      const stream = redactor.stream();
      stream.push(part.repeat(Math.ceil(size / part.length)));
      stream.end();
      return stream.effort;
    };
    expect(effort(2 * megabyte)).toBeLessThan(2.1 * effort(megabyte));
  });

  test("is bounded when it arrives character by character", () => {
    const effort = (size: number) => {
      const stream = redactor.stream();
      for (let index = 0; index < size; index += 1) stream.push("password: abab"[index % 14] ?? "");
      stream.end();
      return stream.effort;
    };
    expect(effort(20_000)).toBeLessThan(2.1 * effort(10_000));
  });
});
