import { describe, expect, it } from "vitest";
import { ProgressLine } from "./progress.ts";

function screen(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

describe("progress", () => {
  it("shows when work takes long, not too often, and goes away", () => {
    const terminal = screen(true);
    let now = 0;
    const line = new ProgressLine(terminal, () => now);
    for (now = 0; now <= 1_150; now += 50) line.update({ entries: now * 10, total: 20_000 });
    expect(terminal.written).toEqual([
      "\r\u001b[Kverified 10,000 of 20,000 entries (50 %)",
      "\r\u001b[Kverified 11,000 of 20,000 entries (55 %)",
    ]);
    line.clear();
    expect(terminal.written.at(-1)).toBe("\r\u001b[K");
  });

  it("leaves no trace of short work", () => {
    const terminal = screen(true);
    const line = new ProgressLine(terminal, () => 0);
    line.update({ entries: 1, total: undefined });
    line.clear();
    expect(terminal.written).toEqual([]);
  });

  it("is for terminals only", () => {
    const file = screen(false);
    let now = 0;
    const line = new ProgressLine(file, () => now);
    now = 10_000;
    line.update({ entries: 1, total: undefined });
    expect(file.written).toEqual([]);
  });
});
