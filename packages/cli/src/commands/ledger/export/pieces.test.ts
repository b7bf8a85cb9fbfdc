import { expect, it } from "vitest";
import { inPieces } from "./pieces.ts";

it("gathers lines and loses none", async () => {
  async function* lines() {
    for (let number = 0; number < 50_000; number += 1) yield `${number}\n`;
  }
  const pieces = await Array.fromAsync(inPieces(lines()));
  expect(pieces.length).toBeLessThan(10);
  expect(pieces.join("")).toBe((await Array.fromAsync(lines())).join(""));
});
