import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Output, printPages } from "./output.ts";

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
