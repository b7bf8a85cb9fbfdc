import { describe, expect, test } from "vitest";
import { hidesText, visible, visibleProse } from "./visible.ts";

describe("names", () => {
  test.each(["read_file", "a.b-c/d", "größe", "读取", "👍"])("%j can be seen", (name) => {
    expect(hidesText(name)).toBe(false);
  });

  test.each([
    "a\u0000",
    "a\nb",
    "a\u202eb",
    "a\u200bb",
    "a\u200d",
    "a\u{e0041}",
    "\ufeffa",
    "a\u2028",
    "a\u00ad",
    "\ue000",
  ])("%j hides something", (name) => {
    expect(hidesText(name)).toBe(true);
  });
});

describe("prose", () => {
  test("keeps its line ends and its scripts, and hides nothing else", () => {
    expect(visible("a\n\tb\r\n👨‍👩‍👧 می‌خواهم")).toBe("a\n\tb\r\n👨‍👩‍👧 می‌خواهم");
    expect(visible("a\u202eb\u0007\u{e0041}\u200b")).toBe("a\\u{202e}b\\u{7}\\u{e0041}\\u{200b}");
  });

  test("is made visible wherever it is, and values stay as they are", () => {
    const schema = {
      properties: { x: { title: "\u200b", description: "\u202e", default: "\u200b", enum: ["\u202e"] } },
    };
    expect(
      visibleProse({ name: "n", description: "\u200b", inputSchema: { anyOf: [schema], description: 5 } }),
    ).toEqual({
      name: "n",
      description: "\\u{200b}",
      inputSchema: {
        anyOf: [
          {
            properties: {
              x: { title: "\\u{200b}", description: "\\u{202e}", default: "\u200b", enum: ["\u202e"] },
            },
          },
        ],
        description: 5,
      },
    });
  });
});
