import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { commaList, nameList } from "./flags.ts";
import { Output, printable, printableJson, printableLine, printPages, table } from "./output.ts";

describe("a long result", () => {
  it("waits for a slow reader", async () => {
    const stream = new PassThrough({ highWaterMark: 4 });
    const output = new Output(stream);
    let written = false;
    const writing = output.write("longer than the mark").then(() => {
      written = true;
    });
    await new Promise(setImmediate);
    expect(written).toBe(false);
    expect(stream.read().toString()).toBe("longer than the mark");
    await writing;
  });

  it("ends without an error when the reader closes, also while it waits", async () => {
    const stream = new PassThrough({ highWaterMark: 4 });
    const output = new Output(stream);
    const writing = output.write("longer than the mark");
    stream.destroy(Object.assign(new Error("gone"), { code: "EPIPE" }));
    await writing;
    expect(output.gone.aborted).toBe(true);
    await output.write("more");
  });
});

describe("pages of a list", () => {
  afterEach(() => vi.restoreAllMocks());

  async function printed(json: string | undefined, ...pages: number[][]): Promise<string> {
    let text = "";
    vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    const all = async function* () {
      yield* pages;
    };
    const page = (items: readonly number[], isFirst: boolean) =>
      `${isFirst ? "head\n" : ""}${items.join(" ")}\n`;
    await printPages(all(), { json, text: page, none: "none\n" });
    return text;
  }

  it("are printed one after the other, the heading once", async () => {
    expect(await printed(undefined, [], [1, 2], [], [3])).toBe("head\n1 2\n3\n");
    expect(await printed(undefined, [], [])).toBe("none\n");
  });

  it("are one JSON document for programs", async () => {
    expect(await printed("items", [1, 2], [3])).toBe('{"items":[1,2,3]}\n');
    expect(await printed("items")).toBe('{"items":[]}\n');
  });
});

it("spells out what would control a terminal", () => {
  expect(printable("plain – ünïcödé 🐎\n\tindented")).toBe("plain – ünïcödé 🐎\n\tindented");
  expect(printable("\u001b[2J\r\u0007\u009b")).toBe("\\u{1b}[2J\\u{d}\\u{7}\\u{9b}");
  expect(printable("a\u202eb\u2028")).toBe("a\\u{202e}b\\u{2028}");
});

it("keeps text on one line", () => {
  expect(printableLine("a\nb\tc\r")).toBe("a\\u{a}b\\u{9}c\\u{d}");
});

it("keeps escaped JSON equal", () => {
  const value = { "\u202e": ["\u009b", "\u2028\u001b", "plain\n"], n: 1 };
  const text = printableJson(value);
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028]/u);
  expect(JSON.parse(text)).toEqual(value);
});

it("spells out every hidden character", () => {
  for (const hidden of [
    "\u200b",
    "\u200d",
    "\u2066",
    "\u{e0041}",
    "\u00ad",
    "\u3164",
    "\u00a0",
    "\ufeff",
    "\ue000",
  ]) {
    expect(printableLine(`a${hidden}b`)).toBe(`a\\u{${hidden.codePointAt(0)?.toString(16)}}b`);
    const text = printableJson({ [hidden]: hidden });
    expect(text).not.toContain(hidden);
    expect(JSON.parse(text)).toEqual({ [hidden]: hidden });
  }
});

it("aligns the columns of a table and cuts it to a width", () => {
  const rows = [
    ["agent", "trust", "mandate"],
    ["a-long-name", "-", "mandates/a.md"],
  ];
  expect(table(rows)).toBe("agent        trust  mandate\na-long-name  -      mandates/a.md\n");
  expect(table(rows, 24)).toBe("agent        trust  man…\na-long-name  -      man…\n");
  expect(table([])).toBe("");
});

it("reads names from one or several flags, separated by commas, or none", () => {
  expect(commaList("a, b", undefined)).toEqual(["a", "b"]);
  expect(commaList("c", ["a", "b"])).toEqual(["a", "b", "c"]);
  expect(commaList("", undefined)).toEqual([]);
  expect([nameList([], "none"), nameList(["*"], "none"), nameList(["a", "b"], "none")]).toEqual([
    "none",
    "all",
    "a, b",
  ]);
});
