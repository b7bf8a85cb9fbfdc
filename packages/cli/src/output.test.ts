import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Output } from "./output.ts";

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
