import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawn, secretCases } from "../../test/secret-corpus.ts";
import type { Format, Reading } from "./format.ts";
import { KNOWN_FORMATS, Redactor } from "./redactor.ts";
import { suits } from "./triggers.ts";

const TOKEN = `ghp_${"0123456789abcdefghijABCDEFGHIJ012345"}`;
const redactor = Redactor.create();

describe("a text", () => {
  test("shows what a secret began with, so that one sees what it was", () => {
    expect(redactor.text(`Use ${TOKEN}, not sk-ant-api03-${"aB3-".repeat(12)}!`)).toBe(
      "Use ghp_[redacted], not sk-ant-[redacted]!",
    );
  });

  test("shows the name that a secret was assigned to", () => {
    expect(redactor.text('DB_PASSWORD=correcthorse node app.js\n{"api_key": "k-31415926"}')).toBe(
      'DB_PASSWORD=[redacted] node app.js\n{"api_key": "[redacted]"}',
    );
  });

  test("has one mark where two forms see the same secret", () => {
    expect(redactor.text(`Authorization: Bearer ${TOKEN}`)).toBe("Authorization: Bearer [redacted]");
    expect(redactor.text(`https://x-access-token:${TOKEN}@github.com/a/b`)).toBe(
      "https://x-access-token:[redacted]@github.com/a/b",
    );
  });

  test("is well-formed afterwards", () => {
    expect(redactor.text("half \ud83d")).toBe("half \ufffd");
  });

  test("that is cut short hides what has begun like a secret", () => {
    expect(redactor.text(TOKEN.slice(0, 16))).toBe(TOKEN.slice(0, 16));
    expect(redactor.text(TOKEN.slice(0, 16), "cut")).toBe("ghp_[redacted]");
    expect(redactor.text('"password": "hun', "cut")).toBe('"password": "[redacted]');
  });
});

describe("configured values", () => {
  const value = 'p/w+Ω ünder "score"-7';
  const withValue = Redactor.create({ values: [value, "short", "correct-horse-battery"] });

  test.each([
    ["as they are", value],
    ["as JSON has them", JSON.stringify({ value })],
    ["as JSON in JSON has them", JSON.stringify(JSON.stringify({ value }))],
    ["in addresses", `https://x/?q=${encodeURIComponent(value)}`],
    ["in forms", new URLSearchParams({ value }).toString()],
    ["in base64", Buffer.from(value).toString("base64")],
    ["in base64 for addresses", Buffer.from(value).toString("base64url")],
    ["in base64 after one other byte", Buffer.from(`:${value}`).toString("base64")],
    ["in base64 after two other bytes", Buffer.from(`a:${value}\n`).toString("base64")],
    ["within a word", `x${value}x`],
  ])("are hidden %s", (_, text) => {
    const shown = withValue.text(text);
    expect(shown).toContain("[redacted]");
    for (const [index] of [...value].entries())
      if (index + 8 <= value.length) expect(shown).not.toContain(value.slice(index, index + 8));
  });

  test("that are shorter than six characters are words, and stay", () => {
    expect(withValue.text("in short, no")).toBe("in short, no");
  });

  test("are hidden to the letter, and nothing beside them is", () => {
    expect(withValue.text("xcorrect-horse-batteryx correct-horse-batter")).toBe(
      "x[redacted]x correct-horse-batter",
    );
  });

  test("of several lines are hidden line by line", () => {
    const key = ["-- key --", "AAAAAAAAAAAAAAAAAAAAAAAA1", "BBBBBBBBBBBBBBBBBBBBBBBB2", "-- end --"];
    const withKey = Redactor.create({ values: [`${key.join("\n")}\n`] });
    expect(withKey.text(key.map((line) => `> ${line}`).join("\n"))).toBe(
      "> -- key --\n> [redacted]\n> [redacted]\n> -- end --",
    );
    expect(withKey.text(key.join("\r\n"))).toBe("[redacted]");
  });

  test("that are long are hidden also where only a part is shown", () => {
    const long = Array.from({ length: 200 }, (_, index) => `part${index}`).join(".");
    expect(Redactor.create({ values: [long] }).text(`${long.slice(0, 640)} …`)).toBe("[redacted] …");
  });
});

describe("formats of one's own", () => {
  const own = Redactor.create({ extra: [{ name: "acme", pattern: "acme-[a-z]{2}-[A-F0-9]{8,}" }] });

  test("are hidden like the known ones", () => {
    expect(own.text("acme-eu-0123ABCD and acme-eu-012")).toBe("acme-[redacted] and acme-eu-012");
  });

  test("are refused unless they can be matched incrementally", () => {
    expect(() => Redactor.create({ extra: [{ name: "any", pattern: "(a|b)+" }] })).toThrow(
      expect.objectContaining({ code: "invalid" }),
    );
  });
});

describe("a value", () => {
  test("is the same value if there is nothing to hide", () => {
    const value = { a: [1, "two", null, { b: true }], c: "password" };
    expect(redactor.value(value)).toBe(value);
  });

  test("keeps what is not changed, and its order", () => {
    const kept = { deep: ["x"] };
    const shown = redactor.value({ first: kept, second: [TOKEN, 2], third: null });
    expect(shown).toEqual({ first: { deep: ["x"] }, second: ["ghp_[redacted]", 2], third: null });
    expect(Object.keys(Object(shown))).toEqual(["first", "second", "third"]);
    expect(Object(shown).first).toBe(kept);
  });

  test("hides what its members' names say is secret", () => {
    const headers = [
      { name: "Authorization", value: "abcdefgh12345678" },
      { name: "Accept", value: "text/html2" },
    ];
    const value = {
      password: "correcthorse",
      client_secret: "hunter2",
      token: null,
      title: "hunter2",
      headers,
    };
    expect(redactor.value(value)).toEqual({
      password: "[redacted]",
      client_secret: "[redacted]",
      token: null,
      title: "hunter2",
      headers: [{ name: "Authorization", value: "[redacted]" }, headers[1]],
    });
    expect(redactor.value({ Cookie: "session=abc; theme=dark", cookie: "yes" })).toEqual({
      Cookie: "[redacted]",
      cookie: "yes",
    });
  });

  test("leaves members that only talk about secrets", () => {
    const value = {
      password: "string",
      passwordLabel: "Password",
      secretName: "prod-db-2",
      token_type: "bearer",
      api_key: "$API_KEY",
      tokens: "17 of 4096",
    };
    expect(redactor.value(value)).toBe(value);
  });

  test("hides what follows the name of an option in a list of arguments", () => {
    expect(redactor.value(["login", "--password", "hunter2", "--user", "ann1234"])).toEqual([
      "login",
      "--password",
      "[redacted]",
      "--user",
      "ann1234",
    ]);
  });

  test("hides secrets in names, and keeps members apart", () => {
    const other = TOKEN.replace("0", "9");
    expect(redactor.value({ [TOKEN]: 1, [other]: 2 })).toEqual({
      "ghp_[redacted]": 1,
      "ghp_[redacted] 2": 2,
    });
    const proto: unknown = JSON.parse(`{"__proto__": {"a": 1}, "b": "${TOKEN}"}`);
    expect(JSON.stringify(redactor.value(proto))).toBe('{"__proto__":{"a":1},"b":"ghp_[redacted]"}');
  });

  test("leaves the bytes of pictures, and looks at what only claims to be one", () => {
    const picture = { type: "image", mimeType: "image/png", data: `iVBORw0KGgo+AIza${"A".repeat(40)}=` };
    expect(redactor.value(picture)).toBe(picture);
    expect(redactor.value({ type: "image", data: TOKEN })).toEqual({ type: "image", data: "ghp_[redacted]" });
  });

  test("that is nested beyond reason is hidden from there on", () => {
    let value: unknown = "deep";
    for (let depth = 0; depth < 50_000; depth += 1) value = [value];
    expect(JSON.stringify(redactor.value(value))).toBe(`${"[".repeat(256)}"[redacted]"${"]".repeat(256)}`);
  });
});

describe("what will never change", () => {
  test("is passed over once it was looked at, and nothing around it", () => {
    const here = Redactor.create();
    const subject = Object.freeze({ agent: "reed", roles: ["developer"] });
    here.remember(subject);
    expect(here.value({ subject, word: TOKEN })).toEqual({ subject, word: "ghp_[redacted]" });
  });

  test("is still shown without its secrets", () => {
    const here = Redactor.create();
    const subject = Object.freeze({ agent: TOKEN });
    here.remember(subject);
    expect(here.value({ subject })).toEqual({ subject: { agent: "ghp_[redacted]" } });
  });

  test("is shown without secrets that are known for a while", () => {
    const here = Redactor.create();
    const subject = Object.freeze({ agent: "open-sesame" });
    here.remember(subject);
    expect(here.also(["open-sesame"])({ subject })).toEqual({ subject: { agent: "[redacted]" } });
  });
});

describe("the known formats", () => {
  const secret = fc.oneof(...secretCases().map(drawn));
  const tail = fc.string({ unit: fc.constantFrom(..."aB3 \n\"'\\.:=+-/@[x"), maxLength: 60 });

  describe("every known format", () => {
    test.each(KNOWN_FORMATS.map((format, index) => ({ index, format })))(
      "$format.name ($index) finds a secret of the corpus",
      ({ format }) => {
        const texts = secretCases().flatMap((one) =>
          (one.in ?? ["{}"]).flatMap((text) =>
            fc.sample(drawn({ ...one, in: [text] }), { numRuns: 2, seed: 7 }),
          ),
        );
        expect(texts.some(({ text }) => readings(format, text).some(({ is }) => is === "secret"))).toBe(true);
      },
    );

    test("knows as much of a text as it will ever know, and no more is needed than it says", () => {
      fc.assert(
        fc.property(secret, tail, ({ text }, more) => {
          for (const format of KNOWN_FORMATS) expectSteady(format, text + more);
        }),
        { seed: 20_261_115, numRuns: 60 },
      );
    });
  });

  /** What a format makes of each of its triggers in a text. */
  function readings(format: Format, text: string): readonly Reading[] {
    return triggersIn(format, text).map(({ start, at }) => format.read(text, start, at, true));
  }

  /** An answer given on the beginning of a text stays the answer when the rest is known. */
  function expectSteady(format: Format, text: string): void {
    for (const { start, at } of triggersIn(format, text)) {
      let answer: Reading | undefined;
      for (let end = at; end <= text.length; end += 1) {
        const reading = format.read(text.slice(0, end), start, at, false);
        if (answer) expect(sized(reading)).toEqual(sized(answer));
        if (reading.is !== "open") answer = reading;
        else expect(end - at).toBeLessThanOrEqual(format.reach);
      }
      const final = format.read(text, start, at, true);
      expect(final.is).not.toBe("open");
      if (answer) expect(sized(final)).toEqual(sized(answer));
    }
  }

  /** Where a secret begins; its end may be known later, if it has a rest. */
  function sized(reading: Reading): unknown {
    if (reading.is !== "secret") return reading;
    return reading.rest ? [reading.from, reading.rest] : [reading.from, reading.to];
  }

  function triggersIn(format: Format, text: string): readonly { start: number; at: number }[] {
    return format.triggers.flatMap((codes) =>
      Array.from({ length: text.length }, (_, start) => ({ start, at: start + codes.length })).filter(
        ({ start, at }) =>
          at <= text.length &&
          codes.every((some, index) => some.includes(text.charCodeAt(start + index))) &&
          suits(format, text, start),
      ),
    );
  }
});
