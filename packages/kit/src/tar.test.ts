import { describe, expect, test } from "vitest";
import { paxOf, type TarPart, tarOf } from "../test/tar.ts";
import { readTar, TarError, type TarKind, tarNames } from "./tar.ts";

interface ReadEntry {
  readonly path: string;
  readonly kind: TarKind;
  readonly text: string;
  readonly target: string;
}

async function* pieces(archive: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < archive.length; at += length) yield archive.subarray(at, at + length);
}

async function readAll(archive: Uint8Array, { length = 1_000, most = 2 ** 40 } = {}): Promise<ReadEntry[]> {
  const found: ReadEntry[] = [];
  for await (const { path, kind, target, content } of readTar(pieces(archive, length), most)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of content) chunks.push(chunk);
    found.push({ path, kind, target, text: Buffer.concat(chunks).toString() });
  }
  return found;
}

const read = (...parts: readonly TarPart[]) => readAll(tarOf(...parts));
const long = `${"d".repeat(90)}/${"e".repeat(90)}`;
const longLink: TarPart = { name: "././@LongLink", type: "L", content: `${long}\0` };

describe("a tar archive", () => {
  test.each([1, 3, 511, 512, 513, 100_000])("is read in pieces of %i bytes", async (length) => {
    const archive = tarOf(
      { name: "folder/", type: "5" },
      { name: "folder/a", content: "a".repeat(700) },
      { name: "empty" },
      { name: "last", content: "x" },
    );
    expect(await readAll(archive, { length })).toEqual([
      { path: "folder/", kind: "folder", text: "", target: "" },
      { path: "folder/a", kind: "file", text: "a".repeat(700), target: "" },
      { path: "empty", kind: "file", text: "", target: "" },
      { path: "last", kind: "file", text: "x", target: "" },
    ]);
  });

  test("has names of every form: prefix, GNU's and pax's", async () => {
    const prefixed = tarOf({ name: "tail", content: "p" });
    prefixed.write("head", 345);
    expect((await readAll(resummed(prefixed))).map(({ path }) => path)).toEqual(["head/tail"]);
    const found = await read(
      ...[longLink, { name: "short", content: "gnu" }],
      ...[paxOf({ path: long, mtime: "1.5" }), { name: "short", content: "pax" }],
      ...[paxOf({ path: "ü/ö" }), { name: "x" }],
      ...[
        { name: "K", type: "K", content: `${long}\0` },
        { name: "l", type: "2", link: "short" },
      ],
      ...[paxOf({ linkpath: "far" }), { name: "m", type: "2", link: "short" }],
    );
    expect(found.map(({ path, target }) => [path, target])).toEqual([
      [long, ""],
      [long, ""],
      ["ü/ö", ""],
      ["l", long],
      ["m", "far"],
    ]);
  });

  test("applies an extended header to the entry after it alone, and a global one to none", async () => {
    const global = { ...paxOf({ path: "../out", size: "9" }), type: "g" };
    const found = await read(global, paxOf({ path: "long" }), { name: "a" }, { name: "b", content: "b" });
    expect(found.map(({ path, text }) => [path, text])).toEqual([
      ["long", ""],
      ["b", "b"],
    ]);
  });

  test.each<[string, TarKind]>([
    ["0", "file"],
    ["\0", "file"],
    ["7", "file"],
    ["1", "hard link"],
    ["2", "symbolic link"],
    ["3", "device"],
    ["4", "device"],
    ["5", "folder"],
    ["6", "pipe"],
    ["S", "sparse file"],
    ["V", "unknown"],
    ["M", "unknown"],
  ])("says of an entry of type %j that it is a %s", async (type, kind) => {
    expect(await read({ name: "x", type, link: "/etc" })).toMatchObject([{ kind, target: "/etc" }]);
  });

  test("says of a file with a trailing slash that it is a folder, and of pax's sparse files that they are", async () => {
    expect(await read({ name: "old/" })).toMatchObject([{ kind: "folder" }]);
    expect(await read(paxOf({ "GNU.sparse.major": "1" }), { name: "x", content: "map" })).toMatchObject([
      { kind: "sparse file" },
    ]);
  });

  test.each(["1", "2", "3", "4", "5", "6"])(
    "gives an entry of type %s no content, whatever its size",
    async (type) => {
      // A reader that skipped the size would read what follows as content, and miss the next entry.
      const found = await read({ name: "x", type, size: 512 }, { name: "next", content: "seen" });
      expect(found.map(({ path, text }) => [path, text])).toEqual([
        ["x", ""],
        ["next", "seen"],
      ]);
    },
  );

  test("is read on where a reader leaves content unread", async () => {
    const paths: string[] = [];
    const archive = tarOf({ name: "a", content: "a".repeat(5_000) }, { name: "b", content: "b" });
    for await (const { path, content } of readTar(pieces(archive, 600))) {
      for await (const _ of content) break;
      paths.push(path);
    }
    expect(paths).toEqual(["a", "b"]);
  });

  test("keeps entries of one name apart, in their order", async () => {
    const found = await read(
      { name: "a", content: "1" },
      { name: "a", content: "2" },
      { name: "a/", type: "5" },
    );
    expect(found.map(({ path, text }) => [path, text])).toEqual([
      ["a", "1"],
      ["a", "2"],
      ["a/", ""],
    ]);
  });

  test("may lack its end, and ends at its first empty block", async () => {
    const whole = tarOf({ name: "a", content: "a" });
    expect(await readAll(whole.subarray(0, 1_024))).toHaveLength(1);
    expect(await readAll(Buffer.concat([whole, tarOf({ name: "after" })]))).toHaveLength(1);
    expect(await readAll(Buffer.alloc(0))).toEqual([]);
  });

  test("closes its source when a reader stops", async () => {
    let isClosed = false;
    const source = (async function* () {
      try {
        for (;;) yield tarOf({ name: "a" }).subarray(0, 512);
      } finally {
        isClosed = true;
      }
    })();
    for await (const _ of readTar(source)) break;
    expect(isClosed).toBe(true);
  });
});

describe("a tar archive is refused", () => {
  const octal = (digits: string) => {
    const archive = tarOf({ name: "x" });
    archive.write(digits, 124, 12, "latin1");
    return resummed(archive);
  };
  const binary = (...bytes: readonly number[]) => {
    const archive = tarOf({ name: "x" });
    Buffer.from(bytes).copy(archive, 124);
    return resummed(archive);
  };
  const HOSTILE: readonly (readonly [string, readonly TarPart[] | Buffer, string])[] = [
    ["that ends in a header", tarOf({ name: "x" }).subarray(0, 300), "ends too early"],
    ["that ends in a file", tarOf({ name: "x", size: 4_096 }).subarray(0, 700), "ends too early"],
    [
      "that ends in what fills a block",
      tarOf({ name: "x", content: "abc" }).subarray(0, 600),
      "ends too early",
    ],
    ["that ends in an extended header", tarOf(paxOf({ path: "x" })).subarray(0, 520), "ends too early"],
    ["with a wrong checksum", Buffer.from(tarOf({ name: "x" })).fill("y", 0, 1), "checksum is wrong"],
    ["that is none", Buffer.from("hello ".repeat(200)), "that is none"],
    ["with a size that is no number", octal("99999999999\0"), "a number that is none"],
    ["with a negative size", octal("-0000000001\0"), "a number that is none"],
    ["with a negative size in base 256", binary(...Array<number>(12).fill(0xff)), "out of range"],
    [
      "with a size beyond exact numbers",
      binary(0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
      "out of range",
    ],
    ["with pax's size that is no number", [paxOf({ size: "-1" }), { name: "x" }], "a number that is none"],
    ["with pax's size in other digits", [paxOf({ size: "0x10" }), { name: "x" }], "a number that is none"],
    ["with a header that is huge", [{ name: "x", type: "x", size: 2 ** 31 }], "header that is too long"],
    ["with a long name that is huge", [{ name: "x", type: "L", size: 2 ** 30 }], "header that is too long"],
    [
      "with headers and no entry",
      Array.from({ length: 40 }, () => paxOf({ comment: "x" })),
      "too many headers",
    ],
    [
      "with a name that is not UTF-8",
      resummed(Buffer.from(tarOf({ name: "x" })).fill(0xff, 0, 3)),
      "not UTF-8",
    ],
    ["with a record of length 0", [{ name: "x", type: "x", content: "0 path=x\n" }], "cannot be read"],
    [
      "with a record longer than its header",
      [{ name: "x", type: "x", content: "99 path=x\n" }],
      "cannot be read",
    ],
    [
      "with a record of a fractional length",
      [{ name: "x", type: "x", content: "9.0 path=x\n" }],
      "cannot be read",
    ],
    [
      "with a record of a negative length",
      [{ name: "x", type: "x", content: "-9 path=x\n" }],
      "cannot be read",
    ],
    ["with a record without a line feed", [{ name: "x", type: "x", content: "8 path=x" }], "cannot be read"],
    ["with a record without a value", [{ name: "x", type: "x", content: "7 path\n" }], "cannot be read"],
    ["with a record without a length", [{ name: "x", type: "x", content: "path=x\n" }], "cannot be read"],
  ];

  test.each(HOSTILE)("%s", async (_, given, message) => {
    const archive = Buffer.isBuffer(given) ? given : tarOf(...given, { name: "x" });
    for (const length of [7, 100_000]) {
      const reading = readAll(archive, { length });
      await expect(reading).rejects.toThrow(TarError);
      await expect(reading).rejects.toMatchObject({
        fault: "malformed",
        message: expect.stringContaining(message),
      });
    }
  });

  test("when it holds more than is wanted: in one file, in all, or behind its end", async () => {
    const large = { fault: "too_large", message: "the archive holds more than 2000 bytes" };
    for (const archive of [
      tarOf({ name: "x", size: 2_001 }),
      tarOf(paxOf({ size: "999999999999999" }), { name: "x" }),
      tarOf(...Array.from({ length: 5 }, (_, index) => ({ name: `${index}`, content: "x" }))),
      Buffer.concat([tarOf(), Buffer.alloc(5_000)]),
    ])
      await expect(readAll(archive, { most: 2_000 })).rejects.toMatchObject(large);
  });

  test("at any cut of any bytes with no error but its own, and never hangs", async () => {
    const whole = tarOf(paxOf({ path: long }), { name: "a", content: "a".repeat(600) }, longLink, {
      name: "b",
    });
    for (let at = 0; at < whole.length; at += 37) {
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ 0x55;
      for (const hostile of [whole.subarray(0, at), flipped])
        await readAll(hostile).catch((error: unknown) => expect(error).toBeInstanceOf(TarError));
    }
  });
});

describe("the names of a path", () => {
  test("leave out what leads nowhere", () => {
    expect(tarNames("./a//b/./c/")).toEqual(["a", "b", "c"]);
    expect(tarNames("./")).toEqual([]);
    expect(tarNames("...")).toEqual(["..."]);
    expect(tarNames("a..b/..c")).toEqual(["a..b", "..c"]);
  });

  test.each([
    ["/etc/passwd", "absolute"],
    ["//etc", "absolute"],
    ["..", "leads out"],
    ["a/../../b", "leads out"],
    ["a/..", "leads out"],
    ["a\0/b", "NUL"],
    ["a/".repeat(200), "too many folders"],
  ])("are refused for %j", (path, message) => {
    expect(() => tarNames(path)).toThrow(message);
  });
});

/** An archive whose first header was changed, with the checksum that it then has. */
function resummed(archive: Buffer): Buffer {
  const sum = archive
    .subarray(0, 512)
    .fill(" ", 148, 156)
    .reduce((total, byte) => total + byte, 0);
  archive.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return archive;
}
