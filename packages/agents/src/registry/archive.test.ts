import { existsSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TestMember, tarOf, zipOf } from "../../test/archives.ts";
import { extract } from "../install/archives.ts";

let base: string;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "reins-archive-"));
  await mkdir(join(base, "out"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function extracted(name: string, bytes: Uint8Array): Promise<string> {
  const file = join(base, "archive");
  await writeFile(file, bytes);
  await extract({ file, name }, join(base, "out"), "program");
  return join(base, "out");
}

const KINDS = [
  ["a.tar.gz", (members: readonly TestMember[]) => gzipSync(tarOf(members))],
  ["a.tgz", (members: readonly TestMember[]) => gzipSync(tarOf(members))],
  ["a.tar", (members: readonly TestMember[]) => tarOf(members)],
  ["a.zip", zipOf],
] as const;

describe.each(KINDS)("%s", (name, made) => {
  test("is extracted with its folders, links and programs, and with no other mode", async () => {
    const out = await extracted(
      name,
      made([
        { name: "bin/", type: "5" },
        { name: "bin/agent", text: "x".repeat(70_000), mode: "4755" },
        { name: "./README", text: "hello", mode: "644" },
        { name: "agent", type: "2", target: "bin/agent" },
        { name: "empty", text: "", mode: "600" },
      ]),
    );
    expect(await readFile(join(out, "agent"), "utf8")).toBe("x".repeat(70_000));
    expect(await readFile(join(out, "README"), "utf8")).toBe("hello");
    const modes = await Promise.all(
      ["bin/agent", "README"].map(async (one) => (await stat(join(out, one))).mode),
    );
    expect(modes.map((mode) => mode & 0o7111)).toEqual([0o111, 0]);
    expect((await stat(join(out, "empty"))).size).toBe(0);
  });

  test.each([
    ["a path that leads out", { name: "../evil", text: "x" }],
    ["a path that leads out further on", { name: "a/../../evil", text: "x" }],
    ["an absolute path", { name: "/tmp/evil", text: "x" }],
    ["a path of Windows", { name: "C:\\evil", text: "x" }],
    ["a path with a backslash", { name: "..\\evil", text: "x" }],
    ["a link that leads out", { name: "out", type: "2", target: "../.." }],
    ["an absolute link", { name: "passwd", type: "2", target: "/etc/passwd" }],
    ["a link to nothing", { name: "nothing", type: "2", target: "missing" }],
    ["a link to itself", { name: "self", type: "2", target: "self" }],
    ["a path that is nested too deep", { name: "a/".repeat(45), type: "5" }],
  ])("is refused with %s", async (_, member) => {
    await expect(extracted(name, made([member]))).rejects.toMatchObject({ code: "install_failed" });
    expect(existsSync(join(base, "evil"))).toBe(false);
  });

  test("is refused with links that lead out together", async () => {
    const links = [
      { name: "d/e/up", type: "2", target: "../.." },
      { name: "d/e/out", type: "2", target: "up/.." },
    ];
    await expect(extracted(name, made(links))).rejects.toThrow("leads out");
  });

  test.each<[string, TestMember]>([
    ["file", { name: "way/evil", text: "x" }],
    ["folder", { name: "way/evil/", type: "5" }],
    ["link", { name: "way/evil", type: "2", target: "/etc/passwd" }],
    ["link in a new folder", { name: "way/evil/link", type: "2", target: "/etc/passwd" }],
    ["link under another name of it", { name: "./way//evil", type: "2", target: "/etc/passwd" }],
  ])("writes no %s through a link", async (_, member) => {
    const way = { name: "way", type: "2", target: base };
    for (const members of [
      [way, member],
      [member, way],
    ]) {
      await expect(extracted(name, made(members))).rejects.toMatchObject({ code: "install_failed" });
      await expect(lstat(join(base, "evil"))).rejects.toMatchObject({ code: "ENOENT" });
      await rm(join(base, "out"), { recursive: true });
      await mkdir(join(base, "out"));
    }
  });

  test.each<[string, readonly TestMember[]]>([
    [
      "a folder where a file is",
      [
        { name: "a", text: "x" },
        { name: "a/", type: "5" },
      ],
    ],
    [
      "a file below a file",
      [
        { name: "a", text: "x" },
        { name: "a/b", text: "x" },
      ],
    ],
    [
      "a link where a file is",
      [
        { name: "a", text: "x" },
        { name: "a", type: "2", target: "a" },
      ],
    ],
    [
      "a link below a file",
      [
        { name: "a", text: "x" },
        { name: "a/b", type: "2", target: "a" },
      ],
    ],
    [
      "a link twice",
      [
        { name: "a", type: "2", target: "b" },
        { name: "a", type: "2", target: "c" },
      ],
    ],
    ["a link without a name", [{ name: "./", type: "2", target: "a" }]],
  ])("is refused with %s, in words", async (_, members) => {
    await expect(extracted(name, made(members))).rejects.toMatchObject({
      code: "install_failed",
      message: expect.stringMatching(/refused|extracted/),
    });
  });

  test("is refused with a file twice", async () => {
    await expect(
      extracted(
        name,
        made([
          { name: "a", text: "1" },
          { name: "a", text: "2" },
        ]),
      ),
    ).rejects.toThrow("cannot be extracted");
  });

  test("is refused when it is cut off", async () => {
    const whole = made([{ name: "a", text: "x".repeat(5_000) }]);
    for (const length of [1, 20, 100, whole.length - 1_100, whole.length - 30].filter((each) => each > 0)) {
      await rm(join(base, "out"), { recursive: true });
      await mkdir(join(base, "out"));
      const cut = extracted(name, whole.subarray(0, length));
      // A tar may lack its end; nothing of a file is missing then.
      await cut.then(
        async (out) => expect((await stat(join(out, "a"))).size).toBe(5_000),
        () => undefined,
      );
    }
  });
});

test("a hard link, a device and a pipe are refused", async () => {
  for (const type of ["1", "3", "4", "6"])
    await expect(extracted("a.tar", tarOf([{ name: "a", type, target: "/etc/passwd" }]))).rejects.toThrow(
      "neither",
    );
});

test.each<[string, TestMember]>([
  ["a name that is too long", { name: "n".repeat(300), text: "x" }],
  ["a link that is too long", { name: "a", type: "2", target: "b/".repeat(2_000) }],
  ["a link with NUL", { name: "a", type: "2", target: "b\0c" }],
])("a zip is refused with %s, in words", async (_, member) => {
  await expect(extracted("a.zip", zipOf([member]))).rejects.toMatchObject({
    code: "install_failed",
    message: expect.stringMatching(/refused|extracted/),
  });
});

test("a zip that says less than it holds is refused", async () => {
  await expect(extracted("a.zip", zipOf([{ name: "a", text: "xxxx", size: 1 }]))).rejects.toMatchObject({
    code: "install_failed",
  });
});

test("the long names of GNU and of pax are read, and held to the same rules", async () => {
  const long = `${"n".repeat(60)}/${"m".repeat(60)}`;
  const gnu = tarOf([
    { name: "././@LongLink", type: "L", text: `${long}\0` },
    { name: "short", text: "gnu" },
  ]);
  expect(await readFile(join(await extracted("a.tar", gnu), long), "utf8")).toBe("gnu");
  const pax = tarOf([
    { name: "x", type: "x", text: "19 path=../../evil\n" },
    { name: "short", text: "pax" },
  ]);
  await expect(extracted("b.tar", pax)).rejects.toThrow("leads out");
});

test("what is no archive is the program itself, and an unknown archive is refused", async () => {
  const out = await extracted("agent-linux", Buffer.from("#!/bin/sh\n"));
  expect((await stat(join(out, "program"))).mode & 0o111).toBe(0o111);
  await expect(extracted("a.tar.xz", Buffer.from("x"))).rejects.toThrow("only .zip");
});
