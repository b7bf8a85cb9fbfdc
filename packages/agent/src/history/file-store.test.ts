import { appendFile, mkdtemp, readdir, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { headerOf, saying, sessionStoreContract } from "../../test/session-store-contract.ts";
import { FileSessionStore } from "./file-store.ts";

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "sessions-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return join(made, "sessions");
}

describe("a session store in a folder", () => {
  sessionStoreContract(async () => new FileSessionStore(await folder()));

  test("is readable by the next process", async () => {
    const path = await folder();
    await new FileSessionStore(path).append(headerOf("a"), [saying("one")]);
    expect((await new FileSessionStore(path).read("a"))?.entries).toEqual([saying("one")]);
  });

  test("skips a line that was cut off and reads the lines after it", async () => {
    const path = await folder();
    const store = new FileSessionStore(path);
    await store.append(headerOf("a"), [saying("one")]);
    await appendFile(join(path, "a.jsonl"), '\n{"kind":"user","turn":"2","par');
    await store.append(headerOf("a"), [saying("three")]);
    expect((await store.read("a"))?.entries).toEqual([saying("one"), saying("three")]);
  });

  test("skips a header that was cut off and reads the one before", async () => {
    const path = await folder();
    const store = new FileSessionStore(path);
    await store.append({ ...headerOf("a"), title: "kept" }, [saying("one")]);
    await appendFile(join(path, "a.json"), '\n{"id":"a","cwd":"/');
    expect((await store.read("a"))?.header.title).toBe("kept");
    await store.append({ ...headerOf("a"), title: "newer" }, []);
    expect((await new FileSessionStore(path).read("a"))?.header.title).toBe("newer");
  });

  test("keeps the file of headers short, also over many processes", async () => {
    const path = await folder();
    for (let n = 0; n < 400; n += 1)
      await new FileSessionStore(path).append({ ...headerOf("a"), title: `${n} ${"x".repeat(500)}` }, []);
    expect((await stat(join(path, "a.json"))).size).toBeLessThan(66 * 1_024);
    expect((await new FileSessionStore(path).read("a"))?.header.title).toMatch(/^399 /);
    await expect.poll(async () => (await readdir(path)).toSorted()).toEqual(["a.json", "a.jsonl"]);
  });

  test("creates the file of entries with the session, and none that a removed session would leave", async () => {
    const path = await folder();
    const store = new FileSessionStore(path);
    await store.append(headerOf("a"), []);
    await store.append(headerOf("b"), []);
    await store.remove("b");
    await expect.poll(async () => (await readdir(path)).toSorted()).toEqual(["a.json", "a.jsonl"]);
    expect((await stat(join(path, "a.jsonl"))).mode & 0o077).toBe(0);
    await store.append(headerOf("a"), [saying("one")]);
    expect((await store.read("a"))?.entries).toEqual([saying("one")]);
  });

  test("creates files for their owner only and leaves no temporary files", async () => {
    const path = await folder();
    await new FileSessionStore(path).append(headerOf("a"), [saying("one")]);
    expect((await readdir(path)).toSorted()).toEqual(["a.json", "a.jsonl"]);
    for (const name of ["a.json", "a.jsonl"]) {
      expect((await stat(join(path, name))).mode & 0o077).toBe(0);
    }
  });

  test("holds a bounded number of files, and none of a session that was released", async () => {
    const path = await folder();
    const store = new FileSessionStore(path);
    const ids = Array.from({ length: 300 }, (_, n) => `s${n}`);
    for (const round of ["one", "two"])
      for (const id of ids) await store.append(headerOf(id), [saying(round)]);
    const held = async () => {
      const links = await Promise.all(
        (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
      );
      return links.filter((link) => link.startsWith(path)).length;
    };
    if (process.platform === "linux") expect(await held()).toBe(512);
    for (const id of ids) store.release(id);
    if (process.platform === "linux") expect(await held()).toBe(0);
    await store.append(headerOf("s0"), [saying("three")]);
    expect((await store.read("s0"))?.entries).toEqual([saying("one"), saying("two"), saying("three")]);
    await store.remove("s0");
    await store.append(headerOf("s0"), [saying("anew")]);
    expect((await store.read("s0"))?.entries).toEqual([saying("anew")]);
    for (const id of ids) store.release(id);
  });

  test("rejects ids that lead out of the folder", async () => {
    const store = new FileSessionStore(await folder());
    await expect(store.append(headerOf("../a"), [])).rejects.toThrow("is not a valid session id");
    await expect(store.remove("../a")).rejects.toThrow("is not a valid session id");
  });
});
