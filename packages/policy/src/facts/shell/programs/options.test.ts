import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Machine } from "../../../../test/machine.ts";
import { isHarmless } from "../../../conditions/conditions.ts";
import { gatherFacts } from "../../gather.ts";
import { knownPrograms, type Program } from "./program.ts";

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

async function isHarmlessCommand(command: string): Promise<boolean> {
  const event = {
    event_type: "pre_action" as const,
    session_id: "s",
    agent_id: "claude-code",
    depth: 0,
    payload: { tool_name: "Bash", arguments: { command } },
  };
  return isHarmless(await gatherFacts(event, machine.context("claude-code")));
}

/** Every entry of the table, with the words that call it. */
const all: readonly (readonly [string, Program])[] = [...knownPrograms()].flatMap(([name, entry]) => [
  [name, entry] as const,
  ...Object.entries(entry.subcommands ?? {}).map(([sub, leaf]) => [`${name} ${sub}`, leaf] as const),
]);

/** Programs that print their words, or do nothing with them. */
const PLAIN = new Set(["echo", ":", "true", "false", "expr", "yes", "break", "continue"]);

/** A letter that is no option. */
function freeLetter({ flags = "", values = {}, attached = {}, never = [] }: Program): string {
  const taken = new Set([...flags, ...Object.keys(values), ...Object.keys(attached), ...never]);
  return [..."zZyYqQwWjJkKxXvVoOgGtTbBdD@%"].find((letter) => !taken.has(letter)) ?? "^";
}

describe("an option that no table knows", () => {
  it.each(all.filter(([name]) => !PLAIN.has(name)))("makes %s opaque", async (name, entry) => {
    const free = freeLetter(entry);
    for (const option of ["--zzz-unknown", "--zzz-unknown=README.md", `-${free}`, `-${free}${free}`]) {
      expect([option, await isHarmlessCommand(`${name} ${option} README.md`)]).toEqual([option, false]);
      // What follows awk's script is a file, dash or not.
      if (/awk$/.test(name)) continue;
      expect([option, await isHarmlessCommand(`${name} README.md ${option}`)]).toEqual([option, false]);
    }
  });

  it("may stand only before words that are printed or ignored", () => {
    expect(all.filter(([, { plain }]) => plain).map(([name]) => name)).toEqual(
      expect.arrayContaining([...PLAIN]),
    );
    expect(all.filter(([, { plain }]) => plain)).toHaveLength(PLAIN.size);
  });

  it("is accepted only by entries that are opaque in any case", () => {
    expect(all.filter(([, { any, opaque }]) => any && !opaque).map(([name]) => name)).toEqual([]);
  });
});

/** An option as a program's help has it. */
interface Told {
  readonly name: string;
  /** What stands for its value; absent where it takes none. */
  readonly value?: string | undefined;
  /** Whether the value may be left out. */
  readonly isOptional: boolean;
}

const OPTION =
  /^(--?[A-Za-z0-9@][\w-]*)(\[=?[^\]\s]+\]|=[^\s,]+| (?:<[^>]+>|\[[^\]]+\]|[A-Z][A-Z0-9_:-]*(?=,|\s|$)|[a-z]+(?=,)))?(,\s*|\s+(?=--))?/;

/** The options that a help text lists, of those lines that have the usual form. */
function optionsIn(help: string): readonly Told[] {
  return help.split("\n").flatMap((line) => {
    let rest = /^\s{1,12}(-.*)$/.exec(line)?.[1] ?? "";
    const told: Told[] = [];
    for (let found = OPTION.exec(rest); found; found = OPTION.exec(rest)) {
      const [whole, name = "", value, comma] = found;
      const plain = value?.replace(/[[\]=<>]/g, "").trim();
      told.push({ name: name.replace(/^-+/, ""), value: plain, isOptional: value?.startsWith("[") ?? false });
      if (comma === undefined) break;
      rest = rest.slice(whole.length);
    }
    // `-n, --lines=NUM`: what the long one takes, the letter takes; if it may be left out there, not always here.
    const last = told.at(-1);
    return told.flatMap((one): Told[] => {
      if (one === last || one.value !== undefined || last?.value === undefined) return [one];
      return last.isOptional || !/[A-Z<{]/.test(last.value) ? [] : [{ ...last, name: one.name }];
    });
  });
}

/** Programs whose help does not say which options take a value. */
const SILENT = new Set(["ss", "shasum", "zip", "file", "less", "wget"]);

/** What stands for a file or a folder in help texts. */
const FILE =
  /^(?:FILE|F|file|DIR|dir|DIRECTORY|PATH|path|RFILE|file name|filename|output-file|input-file|MAGIC|FILE\d?)$/;

/** Options of which a value that is a file is not read or written by the program, and why. */
const NAMES_ONLY = new Set([
  // Paths are printed relative to it.
  "realpath relative-to",
  "realpath relative-base",
  // The first file of a comparison of folders, by name.
  "diff S",
  "diff starting-file",
  "diff label",
]);

describe("the table agrees with what programs say of themselves", () => {
  const names = [...knownPrograms().keys()].filter((name) => !name.includes(" "));
  const installed = names.flatMap((name) => {
    const entry = knownPrograms().get(name);
    if (!entry || entry.opaque || entry.plain || entry.wraps !== undefined) return [];
    const { stdout, status } = spawnSync(`/usr/bin/${name}`, ["--help"], {
      encoding: "utf8",
      timeout: 5_000,
      input: "",
    });
    return status === 0 && stdout ? [[name, entry, optionsIn(stdout)] as const] : [];
  });

  it.skipIf(installed.length === 0).each(installed)(
    "%s",
    (name, { flags = "", long = [], values = {}, attached = {}, never = [] }, told) => {
      const wrong: string[] = [];
      for (const { name: option, value, isOptional } of told) {
        const label = `${name} ${option}`;
        if (never.includes(option)) continue;
        const isFlag = option.length === 1 ? flags.includes(option) : long.includes(option);
        const role = values[option] ?? attached[option];
        if (isFlag && value !== undefined && !isOptional) wrong.push(`${label} takes ${value}`);
        if (role !== "text") continue;
        // A value that it does not take would hide the operand behind it.
        const isTold = value !== undefined || SILENT.has(name);
        if (values[option] !== undefined && (!isTold || isOptional))
          wrong.push(`${label} takes no value of its own`);
        if (FILE.test(value ?? "") && !NAMES_ONLY.has(label)) wrong.push(`${label} takes a file: ${value}`);
      }
      expect(wrong).toEqual([]);
    },
  );

  it.skipIf(installed.length === 0)("for more than 60 programs of this machine", () => {
    expect(installed.filter(([, , told]) => told.length > 0).length).toBeGreaterThan(60);
  });
});

describe("the table agrees with git", () => {
  const git = knownPrograms().get("git")?.subcommands ?? {};
  const installed = Object.entries(git).flatMap(([name, entry]) => {
    if (entry.opaque && entry.any) return [];
    const { stdout, status } = spawnSync("git", [...name.split(" "), "--git-completion-helper-all"], {
      encoding: "utf8",
      timeout: 5_000,
    });
    return status === 0
      ? [
          [
            name,
            entry,
            stdout
              .trim()
              .split(/\s+/)
              .filter((word) => word.startsWith("--")),
          ] as const,
        ]
      : [];
  });

  it.skipIf(installed.length === 0).each(installed)(
    "%s",
    (_, { long = [], values = {}, attached = {} }, told) => {
      const wrong = told.flatMap((word) => {
        const option = word.slice(2).replace(/=$/, "");
        if (word.endsWith("=")) return long.includes(option) ? [`${word} takes a value`] : [];
        // These take the word behind them where there is one.
        if (/^(?:no-)?(?:contains|with|without)$/.test(option)) return [];
        return values[option] === "text" && !told.includes(`${word}=`) ? [`${word} takes no value`] : [];
      });
      expect([...wrong, ...Object.keys(attached).filter((name) => long.includes(name))]).toEqual([]);
    },
  );
});
