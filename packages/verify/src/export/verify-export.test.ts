import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { LedgerMaker, textOf } from "../../test/ledger-maker.ts";
import { faultsOf, inPieces, verifyWhole } from "../../test/read.ts";
import { makeSample } from "../../test/sample.ts";
import { VerifyError } from "../report.ts";
import { verifyExport } from "./verify-export.ts";

const { ledger, seen, seenSize } = makeSample();
const lines = ledger.lines();
const text = textOf(lines);
const trust = { logKey: ledger.logKey, seen };

describe("a valid export", () => {
  it("verifies, and the report says what was looked at", async () => {
    expect(await verifyWhole(text, trust)).toEqual({
      ok: true,
      entries: 19,
      checkpoints: 4,
      signatures: 11,
      withheld: 1,
      logKey: ledger.logKey,
      pinned: true,
      checkpoint: ledger.checkpoints.at(-1)!.note,
      seen: { checked: true, holds: true, size: seenSize },
      faults: [],
      unlisted: 0,
      remarks: ["withheld private content is known by its digest only; its entries verify all the same"],
    });
  });

  it("verifies by its own word alone, and the report says that this is less", async () => {
    const report = await verifyWhole(text);
    expect(report).toMatchObject({
      ok: true,
      pinned: false,
      logKey: ledger.logKey,
      seen: { checked: false },
    });
    expect(report.remarks.slice(0, 2)).toEqual([
      "the log key was taken from the ledger itself; compare it with one you know from elsewhere, or give that one",
      "without an earlier checkpoint a shortened or rolled-back log cannot be ruled out",
    ]);
  });

  it.each([
    ["line by line", () => verifyExport(eachLine(text.split("\n").slice(0, -1)), trust)],
    ["line by line, with newlines", () => verifyExport(eachLine(text.match(/.*\n/g) ?? []), trust)],
    ["byte by byte", () => verifyExport(inPieces(Buffer.from(text), 1), trust)],
    ["in one piece", () => verifyExport(inPieces(Buffer.from(text), text.length * 2), trust)],
    ["compressed", () => verifyExport(inPieces(gzipSync(text), 100), trust)],
    ["without the last newline", () => verifyWhole(text.slice(0, -1), trust)],
    ["with spaces between the members", () => verifyWhole(text.replaceAll('","', '" , "'), trust)],
    ["with other escapes", () => verifyWhole(text.replaceAll("€", "\\u20AC"), trust)],
  ])("may come %s", async (_, read) => {
    expect(faultsOf(await read())).toEqual([]);
  });

  it("may have its members in any order", async () => {
    const reversed = lines.map((line) => JSON.stringify(reverse(line)));
    expect(faultsOf(await verifyExport(eachLine(reversed), trust))).toEqual([]);
  });

  it("may be of a ledger without entries", async () => {
    const header = { ...lines[0], size: 0 };
    const report = await verifyWhole([header, { kind: "end", size: 0 }], { logKey: ledger.logKey });
    expect(report).toMatchObject({ ok: true, entries: 0, checkpoint: null });
    expect(report.remarks).toContain("there are no entries");
  });

  it("may be long: the chunks of a stream do not matter, and progress is reported", async () => {
    const long = new LedgerMaker();
    for (let count = 0; count < 5_000; count += 1)
      long.append({ quality: "tool_call", entity: `s${count % 7}` });
    long.checkpoint();
    const told: number[] = [];
    const report = await verifyExport(inPieces(Buffer.from(textOf(long.lines())), 65_536), {
      onProgress: ({ entries, total }) => {
        expect(total).toBe(5_001);
        told.push(entries);
      },
    });
    expect(report).toMatchObject({ ok: true, entries: 5_001 });
    expect(told.length).toBeGreaterThan(1);
    expect(told.at(-1)).toBe(5_001);
  });
});

describe("a stream that is not whole", () => {
  it.each([
    ["nothing", "", ["header_missing", "end_missing"]],
    ["cut in a line", text.slice(0, text.length / 2), ["line_not_json", "end_missing"]],
    ["cut behind a line", `${text.split("\n").slice(0, -2).join("\n")}\n`, ["end_missing"]],
    ["more behind the end", `${text}{"kind":"end","size":19}\n`, ["after_end"]],
    ["an empty line behind the end", `${text}\n`, ["after_end"]],
    ["an empty line", text.replace("\n", "\n\n"), ["line_not_json"]],
    [
      "a line that is not UTF-8",
      Buffer.concat([Buffer.from(text), Buffer.of(0xff, 0x0a)]),
      ["line_not_utf8"],
    ],
    ["a byte order mark", `\ufeff${text}`, ["line_not_json"]],
    ["damaged compression", gzipSync(text).fill(0, 500, 520), ["gzip_invalid"]],
    ["compression cut off", gzipSync(text).subarray(0, -20), ["gzip_invalid"]],
    [
      "something behind the compression",
      Buffer.concat([gzipSync(text), Buffer.from("more")]),
      ["gzip_invalid"],
    ],
  ])("%s", async (_, whole, codes) => {
    const report = await verifyWhole(whole, trust);
    expect(report.ok).toBe(false);
    expect(report.faults.map(({ code }) => code)).toEqual(expect.arrayContaining(codes));
  });

  it("breaks off, and what came before is judged all the same", async () => {
    async function* broken() {
      yield Buffer.from(text.slice(0, text.length / 2));
      throw new Error("connection reset");
    }
    const report = await verifyExport(broken(), trust);
    expect(report.entries).toBeGreaterThan(5);
    expect(report.faults.map(({ code, message }) => [code, message])).toContainEqual([
      "stream_broken",
      "reading broke off: connection reset",
    ]);
  });

  it("ends when the caller has had enough", async () => {
    const controller = new AbortController();
    async function* endless() {
      yield text.split("\n")[0]!;
      controller.abort(new Error("enough"));
      for (;;) yield text.split("\n")[1]!;
    }
    await expect(verifyExport(endless(), { signal: controller.signal })).rejects.toThrow("enough");
  });
});

describe("lines that do not belong", () => {
  const [header, ...rest] = lines;
  const end = lines.at(-1)!;

  it.each([
    ["no header", rest, ["header_missing"]],
    ["two headers", [header!, ...lines], ["header_misplaced"]],
    ["a header of another format", [{ ...header, format: "reins-ledger/2" }, ...rest], ["line_malformed"]],
    ["a header with more in it", [{ ...header, note: "x" }, ...rest], ["line_malformed"]],
    ["a header of another size", [{ ...header, size: 18 }, ...rest], ["size_mismatch"]],
    ["a header of another origin", [{ ...header, origin: "elsewhere" }, ...rest], ["origin_mismatch"]],
    ["a header without a key", [{ ...header, log_key: "none" }, ...rest], ["log_key_malformed"]],
    ["an end of another size", lines.with(-1, { ...end, size: 20 }), ["size_mismatch"]],
    ["an unknown kind", [...lines.slice(0, -1), { kind: "comment", text: "hello" }, end], ["line_malformed"]],
    ["no object", [...lines.slice(0, -1), JSON.parse("[]"), end], ["line_malformed"]],
    [
      "an entry without an entry",
      [...lines.slice(0, -1), { kind: "entry", seq: 19 }, end],
      ["line_malformed"],
    ],
  ])("%s", async (_, changed, codes) => {
    expect(faultsOf(await verifyWhole(changed, trust))).toEqual(codes);
  });

  it("names a member that a line has twice", async () => {
    const report = await verifyWhole(text.replace('"kind":"entry"', '"kind":"entry","seq":0'), trust);
    expect(report.faults).toMatchObject([{ code: "member_repeated", line: 2, seq: 0 }]);
    expect(report.faults[0]!.message).toContain('"seq" is there twice');
  });

  it.each([
    ["a line", (deep: string) => deep],
    ["a kind", (deep: string) => `{"kind":${deep}}`],
    ["an entry", (deep: string) => `{"kind":"entry","seq":19,"entry":${deep}}`],
    ["a header", (deep: string) => `{"kind":"header","size":${deep}}`],
    ...["payload", "proof", "envelope", "parents"].map((member): [string, (deep: string) => string] => [
      `a ${member}`,
      (deep) =>
        text
          .split("\n")[1]!
          .replace(new RegExp(`"${member}":(\\[[^\\]]*\\]|\\{[^}]*\\}|null)`), `"${member}":${deep}`),
    ]),
  ])("does not fall over %s that is nested endlessly", async (_, lineOf) => {
    for (const deep of [
      "[".repeat(99_999) + "]".repeat(99_999),
      '{"a":'.repeat(99_999) + 1 + "}".repeat(99_999),
    ]) {
      const line = lineOf(deep);
      expect(line.length).toBeGreaterThan(199_000);
      const report = await verifyWhole(
        [...text.split("\n").slice(0, -2), line, text.split("\n").at(-2)].join("\n"),
      );
      expect(report.faults.map((fault) => fault.code)).toContainEqual(
        expect.stringMatching(/malformed|not_plain/),
      );
    }
  });

  it("lists so many faults and counts the others", async () => {
    const report = await verifyWhole(text.replaceAll('"tags"', '"tag"'), { ...trust, maxFaults: 3 });
    expect(report.faults).toHaveLength(3);
    expect(report.unlisted).toBeGreaterThan(30);
    expect(report.ok).toBe(false);
  });
});

describe("what the caller gives", () => {
  it.each([
    ["a key that is none", { logKey: "nonsense" }],
    ["a checkpoint that is none", { seen: "nonsense" }],
  ])("is refused when it is %s", async (_, options) => {
    await expect(verifyWhole(text, options)).rejects.toThrow(VerifyError);
  });
});

async function* eachLine(all: readonly string[]): AsyncGenerator<string> {
  yield* all;
}

function reverse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverse);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, reverse(member)])
      .toReversed(),
  );
}
