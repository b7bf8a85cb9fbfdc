import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cut, type DrawnSecret, drawn, places, secretCases } from "../../test/secret-corpus.ts";
import { MARK } from "./format.ts";
import { Redactor } from "./redactor.ts";

const VALUES = ["hunter2!xyz", "Zx9/plus+val ue", "ababab", "pässwört-☃-123"];
const redactor = Redactor.create({ values: VALUES });
const property = { seed: 20_261_115, numRuns: 300 };

const secret = fc.oneof(...secretCases().map(drawn));
const words = fc
  .array(fc.constantFrom("the", "agent", "reads", "42", "files", "and", "writes", "ünïcödé", "🔑", "日本"))
  .map((all): DrawnSecret => ({ text: all.join(" "), secret: "", hidden: [] }));
const configured = fc
  .constantFrom(...VALUES)
  .chain((value) =>
    fc.constantFrom(
      value,
      JSON.stringify(value),
      encodeURIComponent(value),
      Buffer.from(`ann:${value}`).toString("base64"),
      Buffer.from(value).toString("base64url"),
    ),
  )
  .map((text): DrawnSecret => ({ text, secret: text, hidden: [text] }));
/** Whatever is special to some format, in an order that makes no sense. */
const scraps = fc
  .array(
    fc.constantFrom(
      ...[
        "password",
        "PASSWORD",
        "token",
        "secret",
        "api_key",
        "cookie",
        "Bearer ",
        "Basic ",
        "login a ",
        "--",
      ],
      ...[
        "=",
        ": ",
        ":",
        '"',
        "'",
        "\\",
        '\\"',
        "\\n",
        "\n",
        " ",
        ".",
        "/",
        "://",
        "@",
        "+",
        "<",
        ">",
        "(",
        "[",
      ],
      ...[
        "ghp_",
        "sk-",
        "eyJ",
        "AKIA",
        ":AA",
        "-----",
        "-----BEGIN PRIVATE KEY-----",
        "-----END",
        "SG.",
        "\u001b[1m",
      ],
      ...[
        "abab",
        "hunter2",
        "0123456789",
        "aGVsbG8gd29ybGQhISE",
        "xX1".repeat(12),
        "x".repeat(100),
        MARK,
        "[",
        "\ud83d",
      ],
    ),
    { maxLength: 12 },
  )
  .map((all): DrawnSecret => ({ text: all.join(""), secret: "", hidden: [] }));
const text = fc.array(fc.oneof(words, secret, scraps, configured), { maxLength: 5 }).chain((parts) =>
  fc.constantFrom("", " ", "\n").map((joint) => ({
    text: parts.map((part) => part.text).join(joint),
    isApart: joint !== "",
    hidden: parts.flatMap((part) => part.hidden),
  })),
);

describe("whatever a text says", () => {
  test("its pieces, put together, are shown as the whole is", () => {
    fc.assert(
      fc.property(text, places, ({ text }, at) => {
        const stream = redactor.stream();
        const shown = cut(text, at).map((piece) => stream.push(piece));
        expect(shown.join("") + stream.end()).toBe(redactor.text(text));
      }),
      property,
    );
  });

  test("what is shown is well-formed and stays as it is", () => {
    fc.assert(
      fc.property(text, ({ text }) => {
        const shown = redactor.text(text);
        expect(shown.isWellFormed()).toBe(true);
        expect(redactor.text(shown)).toBe(shown);
      }),
      property,
    );
  });

  test("no more is held back than the longest format looks at", () => {
    fc.assert(
      fc.property(text, places, ({ text }, at) => {
        const stream = redactor.stream();
        for (const piece of cut(text, at)) {
          stream.push(piece);
          expect(stream.held).toBeLessThanOrEqual(1_024);
        }
      }),
      property,
    );
  });
});

const spoken = fc.array(fc.oneof(secret, configured), { minLength: 1, maxLength: 4 });
/** A key that is cut short may cost the word after it, if there is a pause. */
const spokenWhole = fc.array(
  fc.oneof(
    ...secretCases()
      .filter(({ id }) => id !== "pem-cut-short")
      .map(drawn),
    configured,
  ),
  { minLength: 1, maxLength: 4 },
);

describe("a secret in a text", () => {
  test("is not shown, wherever the text is cut, and everything else is", () => {
    fc.assert(
      fc.property(spoken, places, (secrets, at) => {
        const stream = redactor.stream();
        const shown =
          cut(sentence(secrets), at)
            .map((piece) => stream.push(piece))
            .join("") + stream.end();
        expectSaid(shown, secrets);
        for (const part of secrets.flatMap(({ hidden }) => hidden)) expect(shown).not.toContain(part);
      }),
      property,
    );
  });

  test("is not shown when the text pauses in the middle of it, and everything else is", () => {
    fc.assert(
      fc.property(spokenWhole, places, fc.infiniteStream(fc.boolean()), (secrets, at, pauses) => {
        const stream = redactor.stream();
        let shown = "";
        for (const piece of cut(sentence(secrets), at)) {
          shown += stream.push(piece);
          if (pauses.next().value) shown += stream.flush();
        }
        expectSaid(shown + stream.end(), secrets);
      }),
      property,
    );
  });
});

/** Secrets with words between them that are no part of any. */
function sentence(secrets: readonly DrawnSecret[]): string {
  return secrets.map(({ text }, index) => `\nBefore number ${index}.\n${text}\n`).join("");
}

function expectSaid(shown: string, secrets: readonly DrawnSecret[]): void {
  let from = 0;
  for (const [index, { secret }] of secrets.entries()) {
    const found = shown.indexOf(`\nBefore number ${index}.\n`, from);
    expect(found).toBeGreaterThanOrEqual(from);
    from = found;
    expect(shown).not.toContain(secret);
  }
}
