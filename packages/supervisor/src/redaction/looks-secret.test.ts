import { describe, expect, test } from "vitest";
import { looksSecret } from "./looks-secret.ts";
import { Redactor } from "./redactor.ts";

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
