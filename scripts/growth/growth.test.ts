import { PassThrough } from "node:stream";
import { LineReader, readSse, SseParser, visibleJson } from "@reins/kit";
import { describe, expect, test } from "vitest";
import { detectIntent } from "../../packages/agent/src/advisor/intent.ts";
import { DemoModel } from "../../packages/agent/src/models/demo-model.ts";
import { stringifySorted } from "../../packages/ahp/src/json/stringify.ts";
import { printable } from "../../packages/cli/src/output.ts";
import { readMarkdown } from "../../packages/graph/src/declaration/markdown.ts";
import { expandText } from "../../packages/graph/src/view/expand.ts";
import { defused, mentionsIn } from "../../packages/host/src/governor/mentions.ts";
import { diffLines } from "../../packages/inspector/src/design/diff-lines.ts";
import { markdownBlocks } from "../../packages/inspector/src/design/markdown-blocks.ts";
import { parseLossless } from "../../packages/kit/src/json/lossless.ts";
import {
  duplicatesAtTop,
  isModest,
  parseExact,
  parseJson,
  parseSpelled,
  scan,
} from "../../packages/kit/src/json/parse.ts";
import { MessageReader } from "../../packages/kit/src/messages.ts";
import { canonicalJson } from "../../packages/ledger/src/canonical.ts";
import { realFiles } from "../../packages/policy/src/facts/files.ts";
import { gatherFacts } from "../../packages/policy/src/facts/gather.ts";
import { repositoryPrograms } from "../../packages/policy/src/facts/git/repository.ts";
import { hostName, hostOfUrl } from "../../packages/policy/src/facts/host.ts";
import {
  fold,
  isCredentials,
  isPersistence,
  isProcessContent,
  isUserHome,
} from "../../packages/policy/src/facts/path/places.ts";
import { givenPath } from "../../packages/policy/src/facts/path/resolve.ts";
import { isPlainAwk, isPlainSed } from "../../packages/policy/src/facts/shell/programs/editors.ts";
import {
  loadToolTables,
  patchFindings,
  readArgumentText,
  readToolCall,
  textsIn,
} from "../../packages/policy/src/facts/tool/tool-call.ts";
import { nameGlob } from "../../packages/policy/src/glob.ts";
import { sseEventsOf } from "../../packages/sdk/src/events.ts";
import { frameIn } from "../../packages/server/src/haak/haak-client.ts";
import { Redactor } from "../../packages/supervisor/src/redaction/redactor.ts";
import { canonicalJson as verifiedJson } from "../../packages/verify/src/entry/entry.ts";
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
    // The engine keeps up to 128 names in another way, and any table of very many costs more for each of them.
    `{${Array.from({ length: size / 150 }, (_, index) => `"${String(index).padStart(146, "n")}":1`).join()}}`,
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
  "the reader of every other border": parseExact,
  "AHP's duplicate keys": (text) => (isJson(text) ? duplicatesAtTop(text) : undefined),
  "the reader of clients": parseLossless,
  "MCP's reader": parseSpelled,
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
  headings: (size) => "# a\n".repeat(size / 4),
  "headings of all levels": (size) => "# a\n## a\n### a\n#### a\n##### a\n###### a\n".repeat(size / 34),
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
  "declarations in a message": readMarkdown,
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
  "lines of text": (chunks) => {
    const reader = new LineReader({ line: nothing, refused: nothing }, MUCH);
    for (const chunk of chunks) reader.push(chunk);
    reader.end();
  },
  "lines beyond the limit": (chunks) => {
    const reader = new LineReader({ line: nothing, refused: nothing }, 10);
    for (const chunk of chunks) reader.push(chunk);
    reader.end();
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
  "server-sent events": (chunks) => drained(readSse(asStream(chunks), new SseParser(MUCH))),
  "the page's events": (chunks) => drained(sseEventsOf(ReadableStream.from(asStream(chunks)))),
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

const EXPANSIONS: Readonly<Record<string, (size: number) => Parameters<typeof expandText>>> = {
  "lines that all match, with much around each": (size) => [
    "x\n".repeat(size / 2),
    { range: { around_matches: "x", context_lines: 10_000 } },
  ],
  "a reason of many words": (size) => [
    "x\n".repeat(size / 2),
    {
      range: { around_matches: true },
      reason: Array.from({ length: size / 100 }, (_, index) => `word${index}`).join(" "),
    },
  ],
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
    { "expanded results": (given: Parameters<typeof expandText>) => expandText(...given) },
    EXPANSIONS,
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

describe("facts take time in proportion to what they are given", () => {
  const context = {
    roots: ["/nonexistent/workspace"],
    cwd: "/nonexistent/workspace",
    home: "/nonexistent/home",
    harness: "/nonexistent/reins",
    agent: "claude-code",
    tables: loadToolTables(),
    files: realFiles,
  };

  /** The facts of a call; the same text twice is read once, so that each call gets one of its own. */
  let calls = 0;
  function factsOf(tool_name: string, given: object): Promise<unknown> {
    const payload = { tool_name, arguments: given };
    return gatherFacts(
      { event_type: "pre_action", session_id: "s", agent_id: "a", depth: 0, payload },
      context,
    );
  }
  function run(command: string): Promise<unknown> {
    calls += 1;
    return factsOf("Bash", { command: `${command} #${calls}` });
  }

  /** Commands are read up to 64 KiB; a part of the sizes that growth is measured at, and ten times that, stay below. */
  const COMMANDS: Readonly<Record<string, (size: number) => string>> = {
    words: (size) => `ls ${"a ".repeat(size / 2)}`,
    "one long word": (size) => `ls ${"a".repeat(size)}`,
    options: (size) => `grep ${"-n ".repeat(size / 3)}`,
    "unknown long options": (size) => `grep ${"--zz ".repeat(size / 5)}`,
    "short options in one word": (size) => `ls -${"l".repeat(size)}`,
    commands: (size) => "ls;".repeat(size / 3),
    pipes: (size) => `${"cat|".repeat(size / 4)}cat`,
    "and lists": (size) => `${"ls&&".repeat(size / 4)}ls`,
    assignments: (size) => Array.from({ length: size / 8 }, (_, at) => `v${at}=1`).join(";"),
    "assignments and subshells": (size) =>
      `${Array.from({ length: size / 16 }, (_, at) => `v${at}=1`).join(";")};${"(ls);".repeat(size / 10)}`,
    "assignments and lists": (size) =>
      `${Array.from({ length: size / 16 }, (_, at) => `v${at}=1`).join(";")};${"ls&&".repeat(size / 8)}ls`,
    substitutions: (size) => `echo ${"$(ls) ".repeat(size / 6)}`,
    "nested substitutions": (size) => `echo ${"$(echo ".repeat(size / 8)}${")".repeat(size / 8)}`,
    "open substitutions": (size) => `echo ${"$(".repeat(size / 2)}`,
    backticks: (size) => "`ls` ".repeat(size / 5),
    "nested expansions": (size) => `echo ${"${a:-".repeat(size / 6)}${"}".repeat(size / 6)}`,
    "double quotes": (size) => `echo ${'"a"'.repeat(size / 3)}`,
    "single quotes": (size) => `echo ${"'a'".repeat(size / 3)}`,
    "open quotes": (size) => `echo ${"\"'".repeat(size / 2)}`,
    backslashes: (size) => `echo ${"\\a".repeat(size / 2)}`,
    braces: (size) => `echo ${"{a,b}".repeat(size / 5)}`,
    "long braces": (size) => `echo {${"a,".repeat(size / 2)}b}`,
    "open braces": (size) => `echo ${"{a,".repeat(size / 3)}`,
    "a range": (size) => `echo {1..${"9".repeat(size)}}`,
    stars: (size) => `ls ${"*a".repeat(size / 2)}`,
    brackets: (size) => `ls ${"[a".repeat(size / 2)}`,
    tildes: (size) => `ls ${"~a ".repeat(size / 3)}`,
    redirections: (size) => `ls ${">a ".repeat(size / 3)}`,
    "here-documents": (size) => `${"cat <<E\na\nE\n".repeat(size / 12)}`,
    "a long here-document": (size) => `cat <<E\n${"$a `b`\n".repeat(size / 7)}E`,
    "an open here-document": (size) => `cat <<E\n${"a\n".repeat(size / 2)}`,
    parentheses: (size) => `${"(".repeat(size / 2)}ls${")".repeat(size / 2)}`,
    arithmetic: (size) => `echo $((${"1+".repeat(size / 2)}1))`,
    functions: (size) => Array.from({ length: size / 16 }, (_, at) => `f${at}(){ ls; }`).join(";"),
    loops: (size) => `${"for a in b; do ".repeat(size / 24)}ls${"; done".repeat(size / 24)}`,
    "a loop over many words": (size) => `for a in ${"b ".repeat(size / 2)}; do ls $a; done`,
    tests: (size) => `[[ ${"a == b && ".repeat(size / 10)} c ]]`,
    cases: (size) => `case a in ${"b) ls;; ".repeat(size / 8)} esac`,
    folders: (size) => "cd a;".repeat(size / 5),
    moves: (size) => "mv a b;".repeat(size / 7),
    wrappers: (size) => `${"env ".repeat(size / 4)}ls`,
    "texts in texts": (size) => `${"sh -c '".repeat(size / 8)}`,
    evals: (size) => `eval ${"eval ".repeat(size / 5)}ls`,
    "find with names": (size) => `find . ${"-name a -o ".repeat(size / 11)} -name b -delete`,
    "find with commands": (size) => `find . ${"-exec ls {} ; ".repeat(size / 14)}`,
    "find with folders": (size) => `find ${"a ".repeat(size / 4)} ${"-name b ".repeat(size / 16)}`,
    "an awk script of slashes": (size) => `awk '${"/a/;".repeat(size / 4)}'`,
    "a sed script": (size) => `sed '${"s/a/b/;".repeat(size / 7)}'`,
    "git and colons": (size) => `git show ${"a:".repeat(size / 2)}`,
    "git and many paths": (size) => `git diff -- ${"a ".repeat(size / 2)}`,
    "curl and many files": (size) => `curl -F f=@${"a,".repeat(size / 2)}b https://example.com`,
    "curl and a long address": (size) => `curl https://a${"?@".repeat(size / 2)}`,
    "dots in a path": (size) => `cat ${".".repeat(size)}x`,
    "folders that are not there": (size) => `cat ${"a/".repeat(size / 2)}x`,
    "folders up and down": (size) => `cat ${"a/../".repeat(size / 5)}x`,
    comments: (size) => "ls # a\n".repeat(size / 7),
    newlines: (size) => `ls${"\n".repeat(size)}`,
    blanks: (size) => `ls${" ".repeat(size)}x`,
  };

  /** Texts that are made to be looked at again and again. */
  const TEXTS: Readonly<Record<string, (size: number) => string>> = {
    letters: (size) => "a".repeat(size),
    dots: (size) => `${".".repeat(size)}x`,
    blanks: (size) => `${" ".repeat(size)}x`,
    slashes: (size) => "/".repeat(size),
    "short folders": (size) => "/a".repeat(size / 2),
    "folders of keys, almost": (size) => "/.ssh".repeat(size / 5),
    "processes, almost": (size) => "/proc/1/task/1".repeat(size / 14),
    colons: (size) => `/a${":b".repeat(size / 2)}`,
    "question marks": (size) => `https://${"?".repeat(size)}`,
    "at signs": (size) => `https://${"a@".repeat(size / 2)}`,
    "words with dots": (size) => "a.".repeat(size / 2),
    "closing signs": (size) => `https://a/${")".repeat(size)}a`,
    addresses: (size) => "https://a.b/c ".repeat(size / 14),
    percents: (size) => "%41".repeat(size / 3),
    "letters of other scripts": (size) => "é\u200b".repeat(size / 2),
    newlines: (size) => `x${"\n".repeat(size)}x`,
    "patch headers": (size) => `*** Begin Patch\n${"*** Update File: a\n".repeat(size / 19)}*** End Patch`,
    "diff headers": (size) => "--- a/b\n+++ b/b\n@@ -1 +1 @@\n".repeat(size / 28),
    quotes: (size) => '"'.repeat(size),
    "awk, almost": (size) => "/a".repeat(size / 2),
    "sed commands": (size) => `${"s/a/b/g;p;".repeat(size / 10)}!`,
    "sed texts": (size) => `${"a x ".repeat(size / 4)}\n!`,
    "sed addresses": (size) => `${"/a/,/b/p;".repeat(size / 9)}!`,
    "a star and letters": (size) => `*${"a".repeat(size)}`,
  };

  const READERS: Readonly<Record<string, (text: string) => unknown>> = {
    "hosts of addresses": hostOfUrl,
    "host names": hostName,
    "folded paths": fold,
    "given paths": (text) => givenPath(text, "/", "/home/u"),
    credentials: isCredentials,
    persistence: isPersistence,
    homes: isUserHome,
    processes: isProcessContent,
    patches: (text) => patchFindings(text, ["/"]),
    "awk scripts": isPlainAwk,
    "sed scripts": isPlainSed,
    "JSON texts": readArgumentText,
    "paths of tools": (text) => factsOf("Read", { file_path: text }),
    "globs of tools": (text) => factsOf("Glob", { pattern: text }),
    "searches of tools": (text) => factsOf("Grep", { pattern: text, glob: text }),
    "addresses of tools": (text) => factsOf("WebFetch", { url: text, prompt: "" }),
    "words of unknown tools": (text) =>
      factsOf("mcp__x__y", { a: text, path: text, command: text.slice(0, 40_000) }),
    "names of tools": (text) => factsOf(text, {}),
  };

  /** Arguments that are wide, deep or many. */
  const VALUES: Readonly<Record<string, (size: number) => unknown>> = {
    "a wide list": (size) => Array.from({ length: size / 4 }, () => 1),
    "a list of texts": (size) => Array.from({ length: size / 4 }, (_, at) => `t${at}`),
    "a list of lists": (size) => Array.from({ length: size / 8 }, () => [[]]),
    "a wide object": (size) =>
      Object.fromEntries(Array.from({ length: size / 8 }, (_, at) => [`k${at}`, at])),
    "a deep list": (size) =>
      Array.from({ length: Math.min(size / 4, 3_000) }).reduce<unknown>((inner) => [inner], 1),
  };

  const VALUE_READERS: Readonly<Record<string, (value: unknown) => unknown>> = {
    "texts in values": (value) => textsIn(value, 200),
    modesty: isModest,
    "tool calls": (value) => readToolCall({ tool_name: "x", arguments: value, input: value }),
    "unknown tools": (value) => factsOf("mcp__x__y", { value }),
    "known tools": (value) => factsOf("Read", { file_path: value }),
  };

  /** Settings of a foreign repository. */
  const SETTINGS: Readonly<Record<string, (size: number) => string>> = {
    newlines: (size) => "\n".repeat(size),
    blanks: (size) => " \t".repeat(size / 2),
    sections: (size) => "[submodule".repeat(size / 10),
    "open brackets": (size) => "[".repeat(size),
    settings: (size) => "a = b\n".repeat(size / 6),
  };

  function settingsOf(text: string): Promise<unknown> {
    const folder = "/w/.git";
    return repositoryPrograms(
      {
        realpath: (path) => Promise.resolve(path),
        lstat: (path) => Promise.resolve(path === folder ? "folder" : undefined),
        readlink: () => Promise.resolve(undefined),
        list: () => Promise.resolve([]),
        readStart: (path) => Promise.resolve(path === `${folder}/config` ? text : undefined),
        linkedIdentity: () => Promise.resolve(undefined),
        bytes: () => Promise.resolve(undefined),
        slice: () => Promise.resolve(undefined),
        state: () => Promise.resolve(undefined),
      },
      "/w",
    );
  }

  /** Reads one text after the other: the one that is slow makes all of them slow. */
  function answering(read: (text: string) => unknown): (texts: readonly string[]) => Promise<void> {
    return async (texts) => {
      for (const text of texts) await read(text);
    };
  }

  const growers: readonly Grower[] = [
    ...Object.entries(COMMANDS).map(([name, make]) =>
      grower(`a command of ${name}`, run, (size) => make(size / 32)),
    ),
    ...Object.entries(READERS).map(([reader, read]) =>
      grower(reader, answering(read), (size) => Object.values(TEXTS).map((make) => make(size / 16))),
    ),
    ...Object.entries(VALUE_READERS).flatMap(([reader, read]) =>
      Object.entries(VALUES).map(([name, make]) =>
        grower(`${reader}: ${name}`, read, (size) => make(size / 16)),
      ),
    ),
    ...Object.entries(SETTINGS).map(([name, make]) =>
      grower(`settings of git: ${name}`, settingsOf, (size) => make(size / 4)),
    ),
    grower(
      "a glob of many stars",
      (pattern: string) => nameGlob(pattern)?.("a".repeat(255)),
      (size) => "*a".repeat(size / 2),
    ),
    grower(
      "a glob of many brackets",
      (pattern: string) => nameGlob(pattern)?.("a".repeat(255)),
      (size) => "[".repeat(size / 2),
    ),
    grower(
      "a glob of open ranges",
      (pattern: string) => nameGlob(pattern)?.("a".repeat(255)),
      (size) => "[a-".repeat(size / 3),
    ),
  ];

  test.each(growers.map((one) => [one.name, one] as const))("%s", { timeout: 60_000 }, async (_, one) => {
    expect(await growthOf(one)).toBeLessThanOrEqual(MOST_GROWTH);
  });
});
