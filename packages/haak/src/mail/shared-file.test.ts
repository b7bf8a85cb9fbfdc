import { execFileSync } from "node:child_process";
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { scratchFolder } from "../../test/scratch.ts";
import { SharedFile, type SharedFileOptions } from "./shared-file.ts";

const content = { empty: "", parse: async () => "" };

async function sharedFile(options: Partial<SharedFileOptions<string>> = {}) {
  const path = join(await scratchFolder(), "lines");
  const isWhole = (line: string) => line.endsWith("}");
  return { path, file: new SharedFile({ path, maxBytes: 1_000, isWhole, ...content, ...options }) };
}

describe("an appended line", () => {
  test("comes last, in a file that only the user can read", async () => {
    const { path, file } = await sharedFile();
    await file.append("one");
    await file.append("two");
    expect(readFileSync(path, "utf8")).toBe("one\ntwo\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("creates the folder", async () => {
    const path = join(await scratchFolder(), "tenants", "one", "lines");
    await new SharedFile({ path, maxBytes: 1_000, isWhole: () => true, ...content }).append("one");
    expect(readFileSync(path, "utf8")).toBe("one\n");
  });

  test("starts a new line after a complete line without a newline, without waiting", async () => {
    const pause = () => Promise.reject(new Error("nothing to wait for"));
    const { path, file } = await sharedFile({ pause });
    await writeFile(path, "{}\n{theirs}");
    await file.append("ours");
    expect(readFileSync(path, "utf8")).toBe("{}\n{theirs}\nours\n");
  });

  test("waits for another program to finish its line", async () => {
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

  test("stops waiting for a line that is never finished", async () => {
    const { path, file } = await sharedFile({ pause: async () => undefined });
    await writeFile(path, "{half");
    await file.append("ours");
    expect(readFileSync(path, "utf8")).toBe("{half\nours\n");
  });

  test("is appended again after a program that rewrote the file lost it", async () => {
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

  test("is on its own line even if another program continues its line at the same time", async () => {
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

  test("is rejected if the file would become too large", async () => {
    const { path, file } = await sharedFile({ maxBytes: 10 });
    await file.append("12345");
    await expect(file.append("12345")).rejects.toMatchObject({ code: "full" });
    expect(readFileSync(path, "utf8")).toBe("12345\n");
  });
});

describe("a path that is not a plain file", () => {
  test("is rejected if it is a folder", async () => {
    const { path, file } = await sharedFile();
    await mkdir(path);
    await expect(file.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
    await expect(file.read()).rejects.toMatchObject({ code: "unsafe_file" });
  });

  test("is rejected without blocking if it is a pipe", async () => {
    const { path, file } = await sharedFile();
    execFileSync("mkfifo", [path]);
    await expect(file.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
    await expect(file.read()).rejects.toMatchObject({ code: "unsafe_file" });
  });

  test("is rejected if it is a link to itself or below a file", async () => {
    const { path, file } = await sharedFile();
    await symlink(path, path);
    await expect(file.read()).rejects.toThrow(`${path} cannot be opened`);
    await expect(file.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
    await expect(file.read()).rejects.toMatchObject({ code: "unsafe_file" });
    await writeFile(`${path}.file`, "");
    const { file: below } = await sharedFile({ path: join(`${path}.file`, "lines") });
    await expect(below.append("one")).rejects.toMatchObject({ code: "unsafe_file" });
  });

  test("is accepted if it is a link to one, which people use to share a mailbox", async () => {
    const { path, file } = await sharedFile();
    await symlink(`${path}.elsewhere`, path);
    await file.append("one");
    expect(readFileSync(`${path}.elsewhere`, "utf8")).toBe("one\n");
  });
});

test("a missing file has nothing to read", async () => {
  const { file } = await sharedFile();
  expect(await file.read()).toBe("");
});
