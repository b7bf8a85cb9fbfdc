import { execFileSync } from "node:child_process";
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratchFolder } from "../../test/scratch.ts";
import { SharedFile, type SharedFileOptions } from "./shared-file.ts";

async function sharedFile(options: Partial<SharedFileOptions> = {}) {
  const path = join(await scratchFolder(), "lines");
  const isWhole = (line: string) => line.endsWith("}");
  return { path, file: new SharedFile({ path, maxBytes: 1_000, isWhole, ...options }) };
}

describe("a line that is added", () => {
  test("comes after what is there, in a file for this user only", async () => {
    const { path, file } = await sharedFile();
    await file.append("one");
    await file.append("two");
    expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("makes the folder it goes to", async () => {
    const path = join(await scratchFolder(), "tenants", "one", "lines");
    await new SharedFile({ path, maxBytes: 1_000, isWhole: () => true }).append("one");
    expect(readFileSync(path, "utf8")).toBe("one\n");
  });

  test("begins anew after a whole line without a newline, at once", async () => {
    const pause = () => Promise.reject(new Error("nothing to wait for"));
    const { path, file } = await sharedFile({ pause });
    await writeFile(path, "{}\n{theirs}");
    await file.append("ours");
    expect(readFileSync(path, "utf8")).toBe("{}\n{theirs}\nours\n");
  });

  test("waits for somebody who is in the middle of a line", async () => {
    let pauses = 0;
    const { path, file } = await sharedFile({
      async pause() {
        pauses += 1;
        if (pauses === 3) appendFileSync(path, "second half}\n");
      },
    });
    await writeFile(path, "{first half, ");
    await file.append("ours");
    expect(readFileSync(path, "utf8")).toBe("{first half, second half}\nours\n");
  });

  test("does not wait for ever for somebody who died in the middle of a line", async () => {
    const { path, file } = await sharedFile({ pause: async () => undefined });
    await writeFile(path, "{half");
    await file.append("ours");
    expect(readFileSync(path, "utf8")).toBe("{half\nours\n");
  });

  test("is added again when somebody who rewrites the file lost it", async () => {
    let rewrites = 0;
    const { path, file } = await sharedFile({
      // Called between the opening of the file and the write to it.
      isWhole() {
        rewrites += 1;
        if (rewrites === 1) {
          writeFileSync(`${path}.new`, "{theirs, rewritten}\n");
          renameSync(`${path}.new`, path);
        }
        return true;
      },
    });
    await writeFile(path, "{theirs}");
    await file.append("ours");
    expect(readFileSync(path, "utf8")).toBe("{theirs, rewritten}\nours\n");
  });

  test("stands by itself also when somebody went on with theirs at the same moment", async () => {
    let looks = 0;
    const { path, file } = await sharedFile({
      isWhole() {
        looks += 1;
        if (looks === 1) appendFileSync(path, "}\n{half");
        return true;
      },
    });
    await writeFile(path, "{theirs");
    await file.append("ours");
    expect(readFileSync(path, "utf8")).toBe("{theirs}\n{half\nours\n");
  });

  test("is refused when the file would become too large", async () => {
    const { path, file } = await sharedFile({ maxBytes: 10 });
    await file.append("12345");
    await expect(file.append("12345")).rejects.toMatchObject({ code: "full", retryable: false });
    expect(readFileSync(path, "utf8")).toBe("12345\n");
  });
});

describe("what is no plain file", () => {
  test("is a folder", async () => {
    const { path, file } = await sharedFile();
    await mkdir(path);
    await expect(file.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
    await expect(file.openToRead()).rejects.toMatchObject({ code: "unsafe_file" });
  });

  test("is a pipe, for which nobody waits", async () => {
    const { path, file } = await sharedFile();
    execFileSync("mkfifo", [path]);
    await expect(file.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
    await expect(file.openToRead()).rejects.toMatchObject({ code: "unsafe_file" });
  });

  test("is a link that leads nowhere but to itself, or a place where there can be no file", async () => {
    const { path, file } = await sharedFile();
    await symlink(path, path);
    expect(() => file.stamp()).toThrow(`${path} cannot be opened`);
    await expect(file.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
    await expect(file.openToRead()).rejects.toMatchObject({ code: "unsafe_file" });
    await writeFile(`${path}.file`, "");
    const below = new SharedFile({ path: join(`${path}.file`, "lines"), maxBytes: 9, isWhole: () => true });
    await expect(below.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
  });

  test("is not a link to one, which people use to share a mailbox", async () => {
    const { path, file } = await sharedFile();
    await symlink(`${path}.elsewhere`, path);
    await file.append("one");
    expect(readFileSync(`${path}.elsewhere`, "utf8")).toBe("one\n");
  });
});

test("a file that is not there has nothing to read", async () => {
  const { file } = await sharedFile();
  expect(await file.openToRead()).toBeUndefined();
});
