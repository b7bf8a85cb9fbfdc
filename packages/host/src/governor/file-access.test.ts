import { describe, expect, test } from "vitest";
import { type FilePermit, FilePermits } from "./file-access.ts";

const permit = (more: Partial<FilePermit> = {}): FilePermit => ({
  access: "write",
  path: "/w/a",
  content: "new",
  call: { tool_name: "Write" },
  entry: "cid",
  ...more,
});

describe("a permit of an allowed call", () => {
  test("is used once for a write, and only for its content", () => {
    const permits = new FilePermits();
    permits.add(permit());
    expect(permits.take("write", "/w/a", "other")).toBeUndefined();
    expect(permits.take("write", "/w/a")).toBeUndefined();
    expect(permits.take("write", "/w/a", "new")).toMatchObject({ entry: "cid" });
    expect(permits.take("write", "/w/a", "new")).toBeUndefined();
  });

  test("is used for any number of reads", () => {
    const permits = new FilePermits();
    permits.add(permit({ access: "read", content: undefined }));
    for (let times = 0; times < 3; times += 1) expect(permits.take("read", "/w/a")).toBeDefined();
  });

  test("is for its path, however that is written, and for no other", () => {
    const permits = new FilePermits();
    permits.add(permit({ access: "read", path: "/w/x/../a", content: undefined }));
    expect(permits.take("read", "/w/./a")).toBeDefined();
    expect(permits.take("read", "/w/ab")).toBeUndefined();
  });

  test("to read is none to write, nor the other way round", () => {
    const reading = new FilePermits();
    reading.add(permit({ access: "read", content: undefined }));
    expect(reading.take("write", "/w/a", "new")).toBeUndefined();
    const writing = new FilePermits();
    writing.add(permit());
    expect(writing.take("read", "/w/a")).toBeUndefined();
  });

  test("is gone when there are too many after it", () => {
    const permits = new FilePermits();
    for (let index = 0; index <= 1_000; index += 1) permits.add(permit({ path: `/w/${index}` }));
    expect(permits.take("write", "/w/0", "new")).toBeUndefined();
    expect(permits.take("write", "/w/1", "new")).toBeDefined();
  });
});
