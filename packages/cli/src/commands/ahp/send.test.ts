import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, describe as group, it } from "vitest";
import { describeDecision, exitCodeFor, isDecision, readPayload } from "./send.ts";

group("a decision", () => {
  it.each([
    ["allow", 0],
    ["approve", 0],
    ["block", 10],
    ["reject", 10],
    ["skip", 10],
    ["modify", 11],
    ["refine", 11],
    ["defer", 12],
    ["retry", 12],
    ["queue", 12],
    ["escalate", 13],
    ["something new", 10],
    ["toString", 10],
  ])("%s ends with %i", (decision, code) => {
    expect(exitCodeFor({ decision })).toBe(code);
  });

  it("is a line for people, with what belongs to it below", () => {
    expect(describeDecision({ decision: "allow" })).toBe("allow\n");
    expect(describeDecision({ decision: "block", reason: "no\u001b[2J" })).toBe("block: no\\u{1b}[2J\n");
    const modify = { decision: "modify", modified_payload: { a: 1 } };
    expect(describeDecision(modify)).toBe('modify\n{\n  "modified_payload": {\n    "a": 1\n  }\n}\n');
  });

  it("is known by its word", () => {
    expect(isDecision({ decision: "allow" })).toBe(true);
    for (const value of [undefined, null, {}, { decision: 1 }, "allow"])
      expect(isDecision(value)).toBe(false);
  });
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-payload-"));
});
afterAll(() => rm(folder, { recursive: true }));

const nothing = () => Readable.from([]);

describe("a payload", () => {
  it("is JSON, a file, or what comes in", async () => {
    const path = join(folder, "payload.json");
    await writeFile(path, '{"from":"file"}');
    expect(await readPayload('{"a":[1]}', nothing())).toEqual({ a: [1] });
    expect(await readPayload(`@${path}`, nothing())).toEqual({ from: "file" });
    expect(await readPayload("-", Readable.from(['{"from":', '"stdin"}']))).toEqual({ from: "stdin" });
  });

  it("says what is wrong with it", async () => {
    await expect(readPayload("{", nothing())).rejects.toThrow("not JSON");
    await expect(readPayload("-", nothing())).rejects.toThrow("not JSON");
    await expect(readPayload("@/no/such/file", nothing())).rejects.toThrow("cannot be read");
  });
});
