import { describe, expect, it } from "vitest";
import { decodeText } from "./workspace-files.ts";

describe("decoding bytes", () => {
  it("ends at the last whole character when they were cut", () => {
    const bytes = Buffer.from("naïve 🙂 end");
    for (let length = 0; length <= bytes.length; length += 1) {
      const text = decodeText(bytes.subarray(0, length), true);
      expect("naïve 🙂 end".startsWith(text ?? "?")).toBe(true);
    }
    expect(decodeText(bytes, true)).toBe("naïve 🙂 end");
  });

  it("returns nothing for binary data", () => {
    expect(decodeText(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]), false)).toBeUndefined();
    expect(decodeText(Buffer.from([0xff, 0xfe, 0x41]), false)).toBeUndefined();
  });

  it("keeps everything of a whole file, a byte order mark included", () => {
    expect(decodeText(Buffer.from("\ufeffa"), false)).toBe("\ufeffa");
    expect(decodeText(Buffer.alloc(0), false)).toBe("");
  });
});
