import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blake3Hasher } from "@reins/ledger";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TarPart, tarOf } from "../../../kit/test/tar.ts";
import { pathFault } from "./file-fault.ts";
import { HeldFolder } from "./held-folder.ts";
import { placeUnpacked, putFile, unpack } from "./unpack.ts";

let top = "";
let folder: HeldFolder;
beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), "reins-unpack-")));
  folder = await HeldFolder.open(join(top, "in"), { make: true });
});
afterEach(async () => {
  await folder.close();
  await rm(top, { recursive: true, force: true });
});

const LIMITS = { bytes: 1_000, entries: 10 };
/** The bytes of an archive count with its headers. */
const ARCHIVE_LIMITS = { bytes: 9_000, entries: 10 };
const at = (...names: readonly string[]) => join(top, "in", ...names);
const endless = { take: async () => undefined };
const forever = () => new AbortController().signal;
const text = (path: string) => readFile(path, "utf8");

async function* body(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

function put(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  more: { mode?: number; signal?: AbortSignal } = {},
) {
  return putFile(folder, name, bytes, {
    limits: LIMITS,
    room: endless,
    signal: forever(),
    path: name,
    ...more,
  });
}

function unpacked(...parts: readonly TarPart[]) {
  return unpack(folder, body(tarOf(...parts)), { limits: ARCHIVE_LIMITS, room: endless, signal: forever() });
}

/** The fault of an operation, as a caller gets it. */
async function faultOf(running: Promise<unknown>): Promise<string> {
  const error = await running.then(
    () => undefined,
    (thrown: unknown) => pathFault("it", thrown),
  );
  if (error === undefined) return "none";
  const { code, message } = Object(error);
  return `${code}: ${message}`;
}

describe("a file that arrives", () => {
  test("is there when all of it has arrived, with its length and hash", async () => {
    const hasher = await blake3Hasher();
    hasher.update(Buffer.from("hello world"));
    const written = await put("file", body("hello", " ", "world"));
    const sha256 = createHash("sha256").update("hello world").digest("hex");
    expect(written).toEqual({ bytes: 11, content_hash: hasher.digest(), sha256 });
    expect([await readdir(at()), await text(at("file"))]).toEqual([["file"], "hello world"]);
    expect(await put("empty", body())).toMatchObject({ bytes: 0 });
  });

  test("keeps the permissions of the one it replaces, and has those it is given otherwise", async () => {
    await writeFile(at("old"), "x", { mode: 0o750 });
    await put("old", body("y"), { mode: 0o600 });
    await put("new", body("y"), { mode: 0o640 });
    const modes = await Promise.all(["old", "new"].map(async (name) => (await lstat(at(name))).mode & 0o777));
    expect(modes).toEqual([0o750, 0o640]);
  });

  test("changes nothing where it is too large, fails in the middle or its client goes", async () => {
    await writeFile(at("file"), "old");
    expect(await faultOf(put("file", body("x".repeat(600), "x".repeat(600))))).toBe(
      "too_large: at most 1000 bytes are taken at once",
    );
    async function* broken() {
      yield Buffer.from("half");
      throw new Error("the line broke");
    }
    await expect(put("file", broken())).rejects.toThrow("the line broke");
    const gone = new AbortController();
    async function* leaving() {
      yield Buffer.from("half");
      gone.abort(new Error("gone"));
      yield Buffer.from("rest");
    }
    await expect(put("file", leaving(), { signal: gone.signal })).rejects.toThrow("gone");
    expect([await readdir(at()), await text(at("file"))]).toEqual([["file"], "old"]);
  });

  test("takes the place of a plain file alone", async () => {
    await mkdir(at("folder"));
    await symlink("/etc/passwd", at("link"));
    execFileSync("mkfifo", [at("pipe")]);
    expect(await faultOf(put("folder", body("x")))).toBe("conflict: folder is a folder");
    expect(await faultOf(put("link", body("x")))).toBe("conflict: link is a link by now");
    expect(await faultOf(put("pipe", body("x")))).toBe("conflict: pipe is no plain file");
    expect(await faultOf(put("n".repeat(300), body("x")))).toMatch(
      /^invalid: it has a name that is too long/,
    );
    expect(await readdir(at())).toHaveLength(3);
  });

  test("is not written through a link that is put in its place while it arrives", async () => {
    await writeFile(join(top, "secret"), "secret");
    async function* swapping() {
      yield Buffer.from("half");
      await symlink(join(top, "secret"), at("file"));
      yield Buffer.from("rest");
    }
    expect(await faultOf(put("file", swapping()))).toBe("conflict: file is a link by now");
    expect([await text(join(top, "secret")), await readdir(at())]).toEqual(["secret", ["file"]]);
  });

  test("is not put into a folder that was moved while it arrived, and leaves nothing there", async () => {
    async function* moving() {
      yield Buffer.from("half");
      await rename(at(), join(top, "moved"));
      await mkdir(at());
    }
    expect(await faultOf(put("file", moving()))).toMatch(/^conflict: .* was moved or removed meanwhile$/);
    expect([await readdir(at()), await readdir(join(top, "moved"))]).toEqual([[], []]);
  });

  test("is one of many that arrive at once under one name, whole, while others remove it", async () => {
    const contents = Array.from({ length: 20 }, (_, index) => String(index % 10).repeat(500 + index));
    const removing = async () => {
      for (let count = 0; count < 20; count += 1) await folder.remove("file").catch(() => undefined);
    };
    await Promise.all([
      ...contents.map((content) => put("file", body(content.slice(0, 100), content.slice(100)))),
      removing(),
    ]);
    await put("file", body("last"));
    expect([await readdir(at()), await text(at("file"))]).toEqual([["file"], "last"]);
    await Promise.all(
      contents.map((content) => put("file", body(content.slice(0, 100), content.slice(100)))),
    );
    expect(contents).toContain(await text(at("file")));
    expect(await readdir(at())).toEqual(["file"]);
  });
});

describe("an archive", () => {
  test("is unpacked with its folders, whichever sizes its chunks have", async () => {
    const archive = tarOf(
      { name: "a/", type: "5" },
      { name: "a/b/c", content: "1" },
      { name: "./d", content: "2", mode: 0o755 },
    );
    const bytes = Array.from(archive, (_, index) => archive.subarray(index, index + 1));
    const found = await unpack(folder, body(...bytes), {
      limits: { bytes: 9_000, entries: 3 },
      room: endless,
      signal: forever(),
    });
    expect([...found]).toEqual([
      ["a", undefined],
      ["a/b/c", expect.objectContaining({ bytes: 1 })],
      ["d", expect.objectContaining({ bytes: 1 })],
    ]);
    expect([await text(at("a/b/c")), await text(at("d"))]).toEqual(["1", "2"]);
  });

  test("gives its files no more than ordinary permissions, and its owner always the right to write", async () => {
    await unpacked(
      { name: "setuid", mode: 0o6777 },
      { name: "none", mode: 0 },
      { name: "plain", mode: 0o644 },
    );
    const modes = ["setuid", "none", "plain"].map(async (name) => (await lstat(at(name))).mode & 0o7777);
    expect(await Promise.all(modes)).toEqual([0o755, 0o600, 0o644]);
  });

  test("has the last of files with one name", async () => {
    expect([...(await unpacked({ name: "x", content: "1" }, { name: "./x", content: "22" }))]).toEqual([
      ["x", expect.objectContaining({ bytes: 2 })],
    ]);
    expect(await text(at("x"))).toBe("22");
  });

  test.each([
    ["a symbolic link", { name: "x", type: "2", link: "/etc" }],
    ["a hard link", { name: "x", type: "1", link: "y" }],
    ["a device", { name: "x", type: "3" }],
    ["a pipe", { name: "x", type: "6" }],
  ])("with %s is refused by the name of the entry", async (what, part) => {
    expect(await faultOf(unpacked({ name: "before" }, part))).toBe(
      `invalid: the archive has the entry "x", which is ${what}`,
    );
  });

  test.each(["../x", "a/../../x", "/etc/x", "a/..", ".."])("with the name %s is refused", async (name) => {
    expect(await faultOf(unpacked({ name, content: "x" }))).toMatch(/^invalid: /);
    expect(await readdir(top)).toEqual(["in"]);
  });

  test("in which a file is a folder, too, is refused", async () => {
    expect(await faultOf(unpacked({ name: "a" }, { name: "a/b" }))).toMatch(
      /^conflict: a\/b lies in something/,
    );
    expect(await faultOf(unpacked({ name: "f/", type: "5" }, { name: "f" }))).toBe("conflict: f is a folder");
  });

  test("is bounded in entries, also of one name, and in bytes", async () => {
    const many = Array.from({ length: 11 }, () => ({ name: "same" }));
    expect(await faultOf(unpacked(...many))).toBe("too_large: an archive has at most 10 entries");
    expect(await faultOf(unpacked({ name: "big", content: "x".repeat(20_000) }))).toMatch(/^too_large: /);
  });

  test.each([100, 512, 513, 800, 1_023])("that ends after %i bytes is refused", async (length) => {
    const whole = tarOf({ name: "x", content: "y".repeat(512) });
    const cut = unpack(folder, body(whole.subarray(0, length)), {
      limits: { bytes: 9_000, entries: 9 },
      room: endless,
      signal: forever(),
    });
    expect(await faultOf(cut)).toMatch(/^invalid: /);
    expect((await readdir(at())).filter((name) => name.endsWith("partial"))).toEqual([]);
  });

  test("stops when its client goes", async () => {
    const gone = new AbortController();
    gone.abort(new Error("gone"));
    const running = unpack(folder, body(tarOf({ name: "x" })), {
      room: endless,
      limits: ARCHIVE_LIMITS,
      signal: gone.signal,
    });
    await expect(running).rejects.toThrow("gone");
    expect(await readdir(at())).toEqual([]);
  });
});

describe("what was unpacked", () => {
  test("replaces files, keeps what else is there, and goes through no link", async () => {
    await mkdir(at("a"));
    await writeFile(at("a/kept"), "kept");
    await writeFile(at("a/file"), "old");
    await mkdir(join(top, "outside"));
    await symlink(join(top, "outside"), at("link"));
    const staged = await folder.createFolder();
    try {
      const archive = body(
        tarOf(
          { name: "a/file", content: "new" },
          { name: "b/", type: "5" },
          { name: "link/x", content: "1" },
          { name: "a/kept/x" },
        ),
      );
      const limits = { bytes: 9_000, entries: 9 };
      const found = await unpack(staged.folder, archive, { limits, room: endless, signal: forever() });
      const place = (path: string) =>
        faultOf(placeUnpacked(staged.folder, folder, path, found.get(path) === undefined));
      expect([await place("a/file"), await place("b")]).toEqual(["none", "none"]);
      expect(await place("link/x")).toMatch(/^conflict: /);
      expect(await place("a/kept/x")).toMatch(/^conflict: /);
    } finally {
      await staged.folder.close();
      await folder.discard(staged.name);
    }
    expect([await text(at("a/file")), await text(at("a/kept"))]).toEqual(["new", "kept"]);
    expect([await readdir(join(top, "outside")), (await readdir(at())).toSorted()]).toEqual([
      [],
      ["a", "b", "link"],
    ]);
  });
});
