import { describe, expect, test } from "vitest";
import { type FilePermit, FilePermits } from "./file-access.ts";

const permit = (more: Partial<FilePermit> = {}): FilePermit => ({
  access: "write",
  path: "/w/a",
  id: "1",
  call: { tool_name: "Write" },
  entry: "cid",
  turn: undefined,
  ...more,
});

describe("a permit of an allowed call", () => {
  test("is used once for a write", () => {
    const permits = new FilePermits();
    permits.add(permit());
    const [found] = permits.find("write", "/w/a");
    if (!found) throw new Error("no permit was found");
    expect([permits.use(found), permits.use(found)]).toEqual([true, false]);
    expect(permits.find("write", "/w/a")).toEqual([]);
  });

  test("is used for any number of reads", () => {
    const permits = new FilePermits();
    permits.add(permit({ access: "read" }));
    for (let times = 0; times < 3; times += 1)
      expect(permits.find("read", "/w/a").map((one) => permits.use(one))).toEqual([true]);
  });

  test("is for its path, however that is written, and for no other", () => {
    const permits = new FilePermits();
    permits.add(permit({ access: "read", path: "/w/x/../a" }));
    expect(permits.find("read", "/w/./a")).toHaveLength(1);
    expect(permits.find("read", "/w/ab")).toEqual([]);
  });

  test("to read is none to write, nor the other way round", () => {
    const reading = new FilePermits();
    reading.add(permit({ access: "read" }));
    expect(reading.find("write", "/w/a")).toEqual([]);
    const writing = new FilePermits();
    writing.add(permit());
    expect(writing.find("read", "/w/a")).toEqual([]);
  });

  test("is gone when there are too many after it", () => {
    const permits = new FilePermits();
    for (let index = 0; index <= 1_000; index += 1) permits.add(permit({ path: `/w/${index}` }));
    expect(permits.find("write", "/w/0")).toEqual([]);
    expect(permits.find("write", "/w/1")).toHaveLength(1);
  });
});
