import { link, mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ManualClock } from "@reins/kit/manual-clock";
import { QuotaError, Quotas } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import { type TarPart, tarOf } from "../../../kit/test/tar.ts";
import { ADMIN, testAccess } from "../../test/caller.ts";
import { BLOCKED, type TestGovernance } from "../../test/governed-session.ts";
import { FileService } from "./file-service.ts";
import { SetAside } from "./set-aside.ts";
import { TenantRoom } from "./tenant-room.ts";

async function service(governance: TestGovernance = {}, quotas = new Quotas({})) {
  const made = await testAccess(governance, quotas);
  const { folder, access, errors } = made;
  const onError = (error: unknown) => void errors.push(error);
  const clock = new ManualClock("2026-11-18T09:00:00.000Z");
  const room = new TenantRoom({ quotas, clock, rootsOf: async () => [folder] });
  const setAside = new SetAside(join(folder, "home"), onError);
  const files = new FileService({ access, room, setAside, onError }, { bytes: 100_000 });
  const text = (name: string) => readFile(join(folder, name), "utf8").catch(() => undefined);
  const ends = () => made.records.flatMap(({ tags = [] }) => tags);
  return { ...made, files, text, ends };
}

async function* body(...parts: readonly (string | Buffer)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("half");
  throw new Error("the client is gone");
}

const archiveOf = (...parts: readonly TarPart[]) => body(tarOf(...parts));

describe("a file", () => {
  test("is written with the folders above it, under its verdict, and read in part", async () => {
    const { files, caller, decided, text, ends } = await service();
    expect(await files.write(caller(), "in/notes", body("some ", "text"))).toMatchObject({ bytesWritten: 9 });
    expect(await text("in/notes")).toBe("some text");
    const file = await files.open(caller(), "in/notes");
    expect(Buffer.concat(await file.stream(5, 8).toArray()).toString()).toBe("text");
    await expect.poll(ends).toEqual(["completed", "completed"]);
    expect(decided.map(({ payload }) => Object(payload).tool_name)).toEqual([
      "fs/write_file",
      "fs/read_file",
    ]);
  });

  test("stays what it was where its new content breaks off, is too large, or is refused", async () => {
    const { files, caller, text, ends } = await service();
    await files.write(caller(), "notes", body("old"));
    await expect(files.write(caller(), "notes", broken())).rejects.toThrow("the client is gone");
    const large = files.write(caller(), "notes", body("x".repeat(100_001)));
    await expect(large).rejects.toMatchObject({ code: "too_large" });
    const announced = files.write(caller(), "notes", body(""), { bytes: 100_001 });
    await expect(announced).rejects.toMatchObject({ code: "too_large" });
    expect([await text("notes"), ends()]).toEqual(["old", ["completed", "failed", "failed"]]);
    const { files: strict, caller: other, text: read } = await service({ verdicts: [BLOCKED] });
    const refused = strict.write(other(), "notes", body("new"));
    await expect(refused).rejects.toMatchObject({ code: "forbidden" });
    expect(await read("notes")).toBeUndefined();
  });

  test("is changed and removed by its version alone, where one is named", async () => {
    const { files, caller, text } = await service();
    await files.write(caller(), "notes", body("one"));
    const file = await files.open(caller(), "notes");
    await file.close();
    const same = (found: string | undefined) => found === file.version;
    await files.write(caller(), "notes", body("two"), { precondition: same });
    const changed = { code: "precondition_failed" };
    const late = files.write(caller(), "notes", body("three"), { precondition: same });
    await expect(late).rejects.toMatchObject(changed);
    await expect(files.remove(caller(), "notes", { precondition: same })).rejects.toMatchObject(changed);
    expect(await text("notes")).toBe("two");
  });

  test("that becomes shorter while it is read fails, and never passes for the whole", async () => {
    const { folder, files, caller, ends } = await service();
    await writeFile(join(folder, "long"), "x".repeat(2_000_000));
    const file = await files.open(caller(), "long");
    await truncate(join(folder, "long"), 10);
    await expect(file.stream(0, 1_999_999).toArray()).rejects.toMatchObject({ code: "conflict" });
    await expect.poll(ends).toEqual(["failed"]);
  });

  test("with a hard link is read by those alone who reach every folder", async () => {
    const { folder, files, caller } = await service();
    await writeFile(join(folder, "one"), "x");
    await link(join(folder, "one"), join(folder, "two"));
    await expect(files.open(caller(), "two")).rejects.toMatchObject({ code: "forbidden" });
    await (await files.open(caller(ADMIN), "two")).close();
  });

  test("is not written where the tenant has no room, and what failed gives back what it took", async () => {
    const quotas = new Quotas({ tenant: { file_bytes: 40_000 } });
    const { files, caller, text } = await service({}, quotas);
    await expect(files.write(caller(), "large", body("x".repeat(50_000)))).rejects.toThrow(QuotaError);
    await files.write(caller(), "small", body("x".repeat(20_000)));
    expect([(await text("small"))?.length, await text("large")]).toEqual([20_000, undefined]);
  });
});

describe("an entry", () => {
  test("is listed and described without following a link, and a link is removed alone", async () => {
    const { folder, files, caller, text } = await service();
    await mkdir(join(folder, "real"));
    await writeFile(join(folder, "real/notes"), "kept");
    await symlink(join(folder, "real"), join(folder, "link"));
    const found: string[] = [];
    for await (const { name, entryType } of files.list(caller(), "real")) found.push(`${name} ${entryType}`);
    expect(found).toEqual(["notes file"]);
    expect(await files.stat(caller(), "real")).toMatchObject({ name: "real", entryType: "directory" });
    await expect(files.stat(caller(), "none")).rejects.toMatchObject({ code: "not_found" });
    await files.remove(caller(), "link", { recursive: true });
    expect(await text("real/notes")).toBe("kept");
    await expect(files.remove(caller(), "real")).rejects.toMatchObject({ code: expect.any(String) });
    await files.remove(caller(), "real", { recursive: true });
    expect(await text("real/notes")).toBeUndefined();
  });

  test("is moved over another only where that is wanted, and never into itself or what holds it", async () => {
    const { files, caller, text } = await service();
    await files.write(caller(), "a/notes", body("a"));
    await files.write(caller(), "b/notes", body("b"));
    const move = (from: string, to: string, overwrite?: boolean) =>
      files.move(caller(), { from, to, overwrite });
    await expect(move("a", "a/in")).rejects.toMatchObject({ code: "invalid" });
    await expect(move("a/notes", "a")).rejects.toMatchObject({ code: "conflict" });
    await expect(move("a", "b")).rejects.toMatchObject({ code: "conflict" });
    await expect(move("none", "c")).rejects.toMatchObject({ code: "not_found" });
    await move("a", "b", true);
    expect([await text("a/notes"), await text("b/notes")]).toEqual([undefined, "a"]);
    await move("b/notes", "new/folder/notes");
    expect(await text("new/folder/notes")).toBe("a");
  });
});

describe("an archive", () => {
  test("is placed after a verdict on each of its files", async () => {
    const { files, caller, decided, text } = await service();
    const parts = Array.from({ length: 70 }, (_, index) => ({ name: `in/${index}`, content: `${index}` }));
    const { paths, truncated } = await files.upload(caller(), "to", archiveOf(...parts));
    expect([paths.length, truncated, await text("to/in/69")]).toEqual([70, false, "69"]);
    const named = decided.flatMap(({ payload }) => Object(payload).arguments.files ?? []);
    expect(named).toHaveLength(70);
  });

  test("changes nothing where a part of it leads out, or is refused", async () => {
    const { files, caller, text } = await service();
    const upward = archiveOf({ name: "fine", content: "x" }, { name: "../out", content: "x" });
    await expect(files.upload(caller(), "to", upward)).rejects.toMatchObject({ code: "invalid" });
    expect(await text("to/fine")).toBeUndefined();
    const allowed = { ...BLOCKED, verdict: "allowed" } as const;
    const { files: strict, caller: other, text: read } = await service({ verdicts: [allowed, BLOCKED] });
    const refused = strict.upload(other(), "to", archiveOf({ name: "fine", content: "x" }));
    await expect(refused).rejects.toMatchObject({ code: "forbidden" });
    expect(await read("to/fine")).toBeUndefined();
  });
});
