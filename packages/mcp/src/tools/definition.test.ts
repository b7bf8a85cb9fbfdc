import { hasHidden } from "@reins/kit";
import { describe, expect, test } from "vitest";
import { hidesText, visible, visibleProse } from "./catalog.ts";

describe("names", () => {
  test.each(["read_file", "a.b-c/d", "größe", "读取", "👍"])("%j can be seen", (name) => {
    expect(hasHidden(name)).toBe(false);
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
    expect(hasHidden(name)).toBe(true);
  });
});

describe("prose", () => {
  test("keeps its line ends and its scripts, and hides nothing else", () => {
    expect(visible("a\n\tb\r\n👨‍👩‍👧 می‌خواهم")).toBe("a\n\tb\r\n👨‍👩‍👧 می‌خواهم");
    expect(visible("a\u202eb\u0007\u{e0041}\u200b")).toBe("a\\u{202e}b\\u{7}\\u{e0041}\\u{200b}");
  });

  test("keeps emoji and the spaces of scripts, and writes out what can carry a text of its own", () => {
    expect(visible("❤️ a\u00a0b　c")).toBe("❤️ a\u00a0b　c");
    expect(visible("a\ufe00\ufe0e\u{e0100}\u3164\u2800\ue000")).toBe(
      "a\\u{fe00}\\u{fe0e}\\u{e0100}\\u{3164}\\u{2800}\\u{e000}",
    );
  });

  test.each([
    { name: "n", description: "\u200b", title: "\u202e", inputSchema: { title: "\u200b" } },
    {
      name: "n",
      inputSchema: { properties: { "❤️": { enum: ["👨‍👩‍👧", "a\u00a0b"], default: "می‌خواهم\n" } } },
    },
    { name: "n", _meta: { x: "\u200b" }, icons: [{ src: "\u200b" }] },
  ])("hides nothing that is not written out in %j", (listed) => {
    expect(hidesText(listed)).toBe(false);
  });

  test.each([
    { name: "n\u200b" },
    { name: "n", "x\u{e0041}": 1 },
    { name: "n", inputSchema: { properties: { a: { enum: ["a", "\u202e"] } } } },
    { name: "n", inputSchema: { properties: { "a\u200b": {} } } },
    { name: "n", inputSchema: { required: ["\u200b"], default: { deep: ["\u3164"] } } },
    { name: "n", inputSchema: { description: ["\u200b"], _meta: { x: "\u200b" } } },
    { name: "n", uri: "file:///a\u200bb" },
  ])("cannot be written out in %j", (listed) => {
    expect(hidesText(listed)).toBe(true);
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
