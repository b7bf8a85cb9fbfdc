import { describe, expect, it, test } from "vitest";
import { looksSecret, Redactor } from "./redactor.ts";

const SECRET = "Zq8vT3kLw9XbR2mNc7Yd";

describe("what is made out of a value with secrets", () => {
  const redactor = Redactor.create();

  it.each([
    [`echo Authorization: Bearer ${SECRET}`, ["Bearer", SECRET]],
    [`psql postgres://ann:${SECRET}@db.example.com/app`, [`postgres:/ann:${SECRET}@db.example.com/app`]],
    [`Cookie: session=${SECRET}`, [`session=${SECRET}`]],
  ])("hides them where nothing marks them any more: %s", (command, words) => {
    const hide = redactor.knowing({ tool_name: "Bash", arguments: { command } });
    const facts = {
      effects: [{ kind: "exec", arguments: words, [`${SECRET}`]: 1 }],
      doubts: [`what is ${SECRET}?`],
    };
    expect(JSON.stringify(redactor.value(facts))).toContain(SECRET);
    expect(JSON.stringify(hide(facts))).not.toContain(SECRET);
  });

  it("hides each word of a secret of several lines, and what a member's name marks as secret", () => {
    const lines = [SECRET, SECRET.toLowerCase(), SECRET.toUpperCase()];
    const key = ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----"].join("\n");
    const hide = redactor.knowing({ content: key, client_secret: "open-sesame-9" });
    const shown = JSON.stringify(hide({ words: [...lines, "open-sesame-9"], other: "words" }));
    expect(shown).toBe(`{"words":["[redacted]","[redacted]","[redacted]","[redacted]"],"other":"words"}`);
  });

  it("is left as it is where there are none", () => {
    const facts = { tool: "Bash", effects: [] };
    expect(redactor.knowing({ command: "ls" })(facts)).toBe(facts);
  });
});

describe("looksSecret", () => {
  describe("what looks as if drawn at random", () => {
    test.each(["the value is q7Zt9vXk2LmP4sWd8RbN1cYf", "x=hG5+fK9/aZ2-mQ8_wE4rT7yU1iO"])(
      "is noticed in %s",
      (text) => {
        expect(looksSecret(text)).toBe(true);
      },
    );

    test("is noticed and never taken out", () => {
      const text = "the value is q7Zt9vXk2LmP4sWd8RbN1cYf";
      expect(Redactor.create().text(text)).toBe(text);
    });

    test.each([
      "An ordinary sentence about configurationManagement and internationalisation.",
      "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
      "9fceb02d0ae598e95dc970b74767f19372d61af8",
      "sha512-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A=",
      "src/components/Button/ButtonGroup2/index",
      "AbstractSingletonProxyFactoryBean",
    ])("is not seen in %s", (text) => {
      expect(looksSecret(text)).toBe(false);
    });
  });
});
