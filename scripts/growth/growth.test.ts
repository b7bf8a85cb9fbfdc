import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { detectIntent } from "../../packages/agent/src/control/defaults/intent/detect-intent.ts";
import { DemoModel } from "../../packages/agent/src/models/demo/demo-model.ts";
import { duplicatesAtTop } from "../../packages/ahp/src/json/duplicates.ts";
import { parseExact as parseAny, parseJson } from "../../packages/ahp/src/json/parse.ts";
import { scan } from "../../packages/ahp/src/json/scan.ts";
import { stringifySorted } from "../../packages/ahp/src/json/stringify.ts";
import { LineSplitter } from "../../packages/ahp/src/transport/lines/splitter.ts";
import { serverEvents } from "../../packages/cli/src/operator/event-stream.ts";
import { printable } from "../../packages/cli/src/printable.ts";
import { defused, mentionsIn } from "../../packages/host/src/governor/mentions.ts";
import { readEvents } from "../../packages/host/src/mcp/wire/event-stream.ts";
import { parseExact } from "../../packages/host/src/mcp/wire/exact-json.ts";
import { Lines } from "../../packages/host/src/mcp/wire/lines.ts";
import { MessageReader } from "../../packages/host/src/process/message-reader.ts";
import { serverEvents as pageEvents } from "../../packages/inspector/src/api/server-events.ts";
import { diffLines } from "../../packages/inspector/src/design/diff-lines.ts";
import { markdownBlocks } from "../../packages/inspector/src/pages/conversation/timeline/markdown-blocks.ts";
import { canonicalJson } from "../../packages/ledger/src/canonical.ts";
import { frameIn } from "../../packages/server/src/haak/frame.ts";
import { visibleJson } from "../../packages/supervisor/src/approvals/visible.ts";
import { Redactor } from "../../packages/supervisor/src/redaction/redactor.ts";
import { canonicalJson as verifiedJson } from "../../packages/verify/src/json/canonical.ts";
import { parseStrict } from "../../packages/verify/src/json/strict.ts";
import { type Grower, grower, growthOf, MOST_GROWTH } from "./growth.ts";

/** JSON whose every byte is what some reader has to stop at. */
const JSON_TEXTS: Readonly<Record<string, (size: number) => string>> = {
  "a string of backslashes": (size) => `{"a":"${"\\\\".repeat(size / 2)}"}`,
  "a string of line feeds": (size) => `{"a":"${"\\n".repeat(size / 2)}"}`,
  "a string of quotes": (size) => `{"a":"${'\\"'.repeat(size / 2)}"}`,
  "a string of surrogates": (size) => `{"a":"${"\\ud83d\\ude00".repeat(size / 12)}"}`,
  "characters whose low byte is a quote's": (size) => `{"a":"${"\u6f22\\n".repeat(size / 3)}"}`,
  "strings with one escape each": (size) => `[${'"\\n",'.repeat(size / 5)}0]`,
  "escapes, and then a fraction": (size) => `{"a":"${"\\n".repeat(size / 2)}","b":1.5}`,
  "a string that never ends": (size) => `{"a":"${'\\"'.repeat(size / 2)}`,
  "backslashes that never end": (size) => `{"a":"${"\\\\".repeat(size / 2)}`,
  fractions: (size) => `[${"1.5,".repeat(size / 4)}1]`,
  "whole floats": (size) => `[${"1.0,".repeat(size / 4)}1]`,
  "objects with floats": (size) => `[${'{"a":1.0},'.repeat(size / 10)}1]`,
  "integers beyond the exact ones": (size) => `[${"9007199254740993,".repeat(size / 17)}1]`,
  "an integer of many digits": (size) => `[${"9".repeat(size)}]`,
  "a fraction of many digits": (size) => `[0.${"9".repeat(size)}]`,
  "a number of zeros": (size) => `[0.${"0".repeat(size)}]`,
  "an exponent of many digits": (size) => `[1e-${"0".repeat(size)}1]`,
  "members with different names": (size) =>
    // A table of very many names costs more for each of them, whoever made the table.
    `{${Array.from({ length: size / 200 }, (_, index) => `"${String(index).padStart(196, "n")}":1`).join()}}`,
  "members with the same name": (size) => `{${'"a":1,'.repeat(size / 6)}"a":1}`,
  "names with escapes": (size) => `[${'{"\\n":1},'.repeat(size / 9)}1]`,
  "white space": (size) => `{"a"${" ".repeat(size)}:1}`,
  "white space after strings": (size) => `["a"${' ,"a"'.repeat(size / 5)}]`,
  "opening brackets": (size) => "[".repeat(size),
  "many short containers": (size) => `[${"[{}],".repeat(size / 5)}1]`,
};

/** Whatever is thrown is an answer, too. */
const JSON_READERS: Readonly<Record<string, (text: string) => unknown>> = {
  "AHP's scanner": scan,
  "AHP's reader": parseJson,
  "the reader of every other border": parseAny,
  "AHP's duplicate keys": (text) => (isJson(text) ? duplicatesAtTop(text) : undefined),
  "MCP's reader": parseExact,
  "the verifier's reader": parseStrict,
  "HAAK's frames": frameIn,
};

const redactor = Redactor.create({ values: ["hunter2!xyz", "ababab"] });

/** Text that gives hope to a format, a pattern or a block again and again. */
const TEXTS: Readonly<Record<string, (size: number) => string>> = {
  letters: (size) => "a".repeat(size),
  digits: (size) => "7".repeat(size),
  blanks: (size) => `run ${" ".repeat(size)}x`,
  newlines: (size) => `run${"\n".repeat(size)}x`,
  dots: (size) => `run ${".".repeat(size)}x`,
  backslashes: (size) => "\\".repeat(size),
  quotes: (size) => "\"'".repeat(size / 2),
  "the same word": (size) => "post ".repeat(size / 5),
  "almost an address": (size) => `${"a.".repeat(size / 2)}@`,
  references: (size) => "@a/b ".repeat(size / 5),
  "references that never end": (size) => '@"'.repeat(size / 2),
  "almost a URL": (size) => "https://a:".repeat(size / 10),
  "almost a key": (size) => "-----BEGIN PRIVATE KEY-----".repeat(size / 27),
  "almost an assignment": (size) => "password=".repeat(size / 9),
  "almost a header": (size) => "Authorization: Bearer ".repeat(size / 22),
  "almost a cookie": (size) => `cookie: ${"a=b; ".repeat(size / 5)}`,
  "almost a configured value": (size) => "abab".repeat(size / 4),
  "almost an option": (size) => "--a-".repeat(size / 4),
  tokens: (size) => "sk-ant-api03-".repeat(size / 13),
  "hidden characters": (size) => "\u202e\u0000".repeat(size / 2),
  "opening brackets": (size) => "[".repeat(size),
  "links that do not end": (size) => "[a](".repeat(size / 4),
  stars: (size) => "*a ".repeat(size / 3),
  fences: (size) => "```\n".repeat(size / 4),
  "a fence, and then a paragraph": (size) => `\`\`\`\n\`\`\`\n${"a".repeat(size)}`,
  "list items": (size) => "- a\n\n".repeat(size / 5),
  "table rows": (size) => "|a|\n".repeat(size / 4),
};

const TEXT_READERS: Readonly<Record<string, (text: string) => unknown>> = {
  redaction: (text) => redactor.text(text),
  "redaction in small pieces": (text) => {
    const stream = redactor.stream();
    for (let at = 0; at < text.length; at += 512) stream.push(text.slice(at, at + 512));
    return stream.end();
  },
  "redaction of a cut text": (text) => redactor.value({ text, password: text }, "cut"),
  "what an approval shows": (text) => visibleJson({ text }),
  "what a terminal shows": printable,
  "the page's blocks of markdown": (text) => {
    const blocks = markdownBlocks(text);
    // A block that is no code is drawn by a parser that is not ours, so it has to be short.
    for (const block of blocks)
      if (!/^ {0,3}(`{3}|~{3})/.test(block)) expect(block.length).toBeLessThan(10_000);
  },
  "what a prompt wants": detectIntent,
  "files that a prompt names": (text) =>
    defused(
      text,
      mentionsIn(text).map(({ at }) => at),
    ),
  "the demo model": async (text) => {
    const request = {
      system: "",
      tools: [],
      messages: [{ role: "user" as const, parts: [{ type: "text" as const, text }] }],
    };
    for await (const event of new DemoModel().stream(request as never, AbortSignal.timeout(10_000)))
      return event;
    return undefined;
  },
};

const CHUNK = 1_024;
function chunksOf(text: string, size = CHUNK): Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

async function* asStream<Piece>(pieces: readonly Piece[]): AsyncGenerator<Piece> {
  yield* pieces;
}

async function drained(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

const MUCH = 1 << 30;
const LINES: Readonly<Record<string, (size: number) => string>> = {
  "one long line": (size) => `{"a":"${"a".repeat(size)}"}\n`,
  "short lines": (size) => '{"a":1}\n'.repeat(size / 8),
  "empty lines": (size) => "\n".repeat(size),
  "carriage returns": (size) => "\r".repeat(size),
  "a line without end": (size) => "a".repeat(size),
};
const STREAMS: Readonly<Record<string, (size: number) => string>> = {
  "one long event": (size) => `data: ${"a".repeat(size)}\n\n`,
  "an event of many lines": (size) => `${"data: a\n".repeat(size / 8)}\n`,
  "an event without end": (size) => `data: ${"a".repeat(size)}`,
  "carriage returns": (size) => "a\r".repeat(size / 2),
  comments: (size) => ":\n".repeat(size / 2),
};

const nothing = () => undefined;
const LINE_READERS: Readonly<Record<string, (chunks: readonly Buffer[]) => unknown>> = {
  "AHP's lines": (chunks) => {
    const splitter = new LineSplitter({ line: nothing, refused: nothing }, MUCH);
    for (const chunk of chunks) splitter.push(chunk);
    splitter.end();
  },
  "MCP's lines": (chunks) => {
    const lines = new Lines({ line: nothing, refused: nothing }, MUCH);
    for (const chunk of chunks) lines.push(chunk);
    lines.end();
  },
  "an agent's messages": async (chunks) => {
    const stream = new PassThrough();
    const reader = new MessageReader(stream, MUCH, { message: nothing, fault: nothing });
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    await reader.ended;
  },
};
const STREAM_READERS: Readonly<Record<string, (chunks: readonly Buffer[]) => unknown>> = {
  "MCP's events": (chunks) =>
    drained(readEvents(asStream(chunks), MUCH, { lastEventId: undefined, retryMs: undefined })),
  "the command line's events": (chunks) => drained(serverEvents(asStream(chunks.map(String)))),
  "the page's events": (chunks) => drained(pageEvents(ReadableStream.from(asStream(chunks)))),
};

const MEMBERS: Readonly<Record<string, (size: number) => object>> = {
  "names that are secrets": (size) =>
    Object.fromEntries(
      Array.from({ length: size / 40 }, (_, index) => [`ghp_${`${index}`.padStart(36, "aB3x")}`, 1]),
    ),
  "names in the way of those of secrets": (size) =>
    Object.fromEntries([
      ...Array.from({ length: size / 40 }, (_, index) => [`[redacted] ${index + size / 40}`, 1]),
      ...Array.from({ length: size / 40 }, (_, index) => [`ghp_${`${index}`.padStart(36, "aB3x")}`, 1]),
    ]),
  "a list": (size) => Array.from({ length: size / 2 }, () => 1),
};

const DIFFS: Readonly<Record<string, (size: number) => readonly [string, string]>> = {
  "nothing in common": (size) => [lines(size, "a"), lines(size, "b")],
  "every other line in common": (size) => [lines(size, "a", "x"), lines(size, "b", "x")],
  "long lines that differ at their ends": (size) => {
    const long = "a".repeat(size / 200);
    const all = (mark: string) =>
      Array.from({ length: 200 }, (_, index) => `${long}${mark}${index}`).join("\n");
    return [all("x"), all("y")];
  },
};

function lines(size: number, ...texts: readonly string[]): string {
  // Beyond the bound above which the page does not look for what stayed.
  return Array.from({ length: size }, (_, index) => texts[index % texts.length]).join("\n");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parsed(text: string): unknown {
  return isJson(text) ? JSON.parse(text) : undefined;
}

function answering<Input>(run: (input: Input) => unknown): (input: Input) => unknown {
  return async (input) => {
    try {
      return await run(input);
    } catch (error) {
      return error;
    }
  };
}

function pairs<Input, Made>(
  readers: Readonly<Record<string, (input: Input) => unknown>>,
  inputs: Readonly<Record<string, (size: number) => Made>>,
  prepare: (made: Made) => Input,
): Grower[] {
  return Object.entries(readers).flatMap(([reader, run]) =>
    Object.entries(inputs).map(([name, make]) =>
      grower(`${reader}: ${name}`, answering(run), (size) => prepare(make(size))),
    ),
  );
}

const same = <Value>(value: Value) => value;
const GROWERS: readonly Grower[] = [
  ...pairs(JSON_READERS, JSON_TEXTS, same),
  ...pairs(TEXT_READERS, TEXTS, same),
  ...pairs(LINE_READERS, LINES, (text) => chunksOf(text)),
  ...pairs(STREAM_READERS, STREAMS, (text) => chunksOf(text)),
  ...pairs(
    {
      redaction: (value: object) => redactor.value(value),
      "redaction of what was made out of it": (value: object) => redactor.knowing(value)([value]),
    },
    MEMBERS,
    same,
  ),
  ...pairs(
    { "the page's diff": ([before, after]: readonly [string, string]) => diffLines(before, after) },
    DIFFS,
    same,
  ),
  ...pairs(
    {
      "AHP's writer": stringifySorted,
      "the ledger's writer": canonicalJson,
      "the verifier's writer": (value) => verifiedJson(value as never),
    },
    JSON_TEXTS,
    parsed,
  ),
];

describe("ten times the input costs about ten times as much", () => {
  test.each(GROWERS.map((one) => [one.name, one] as const))("%s", async (_, one) => {
    expect(await growthOf(one)).toBeLessThanOrEqual(MOST_GROWTH);
  });
});

describe("the measure", () => {
  test("notices a square", async () => {
    const square = grower(
      "a square",
      (text: string) => {
        let sum = 0;
        for (let at = 0; at < text.length; at += 8) sum += text.indexOf("x", at);
        return sum;
      },
      (size) => "a".repeat(size),
    );
    expect(await growthOf(square)).toBeGreaterThan(MOST_GROWTH);
  });
});
