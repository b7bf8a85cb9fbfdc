import { expect, test } from "vitest";
import { textFrames } from "./web-socket.ts";

/** Decodes frames as a client does. */
function textsIn(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    expect(bytes[at]).toBe(0x81);
    const short = bytes[at + 1] ?? 0;
    const [head, length] =
      short < 126
        ? [2, short]
        : short === 126
          ? [4, bytes.readUInt16BE(at + 2)]
          : [10, Number(bytes.readBigUInt64BE(at + 2))];
    texts.push(bytes.toString("utf8", at + head, at + head + length));
    at += head + length;
  }
  return texts;
}

test("texts of every length are encoded as one frame each", () => {
  const texts = ["", "a", "ö€😀", "x".repeat(125), "y".repeat(126), "z".repeat(65_535), "ü".repeat(65_536)];
  expect(textsIn(textFrames(texts))).toEqual(texts);
});
