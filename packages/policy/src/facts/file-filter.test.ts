import { describe, expect, it, test } from "vitest";
import { ALL_FILES, entersFolder, fileFilterOf, includesFile } from "./file-filter.ts";
import { programOf } from "./shell/programs/program.ts";
import { readWords } from "./shell/programs/words.ts";
import { knownValue, unknownValue } from "./shell/value.ts";

/** The files that a program reads below its operands, by the words after its name. */
function filterOf(line: string) {
  const [name = "", ...words] = line.split(" ");
  return fileFilterOf(name, readWords(words.map(knownValue), programOf(name) ?? {}));
}

const reads = (line: string, name: string) => {
  const filter = filterOf(line);
  return filter !== undefined && includesFile(filter, name);
};

describe("of the files below a folder", () => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ["grep -r x", ".env", true],
    ["grep -r --exclude=.env x", ".env", false],
    ["grep -r --exclude=*.pem x", ".env", true],
    ["grep -r --exclude=*.pem x", "a.pem", false],
    ["grep -r --include=*.ts x", ".env", false],
    ["grep -r --include=*.ts x", "a.ts", true],
    ["grep -r --include=.env --exclude=.env x", ".env", true],
    ["grep -r --include=* x", ".env", true],
    ["rg x", ".env", false],
    ["rg x", "a.ts", true],
    ["rg --hidden x", ".env", true],
    ["rg -. x", ".env", true],
    ["rg -u x", ".env", true],
    ["rg -uu x", ".env", true],
    ["rg -g *.ts x", "a.ts", true],
    ["rg -g .env x", ".env", true],
    ["rg -g !.env --hidden x", ".env", false],
    ["rg -g .env* x", ".env.local", true],
    ["rg -g {a,.env} x", ".env", true],
    ["rg --iglob .ENV x", ".env", true],
    ["rg -t yaml x", "a.yml", true],
    ["rg -t ts x", ".env", false],
    ["rg --type-add a:b x", ".env", true],
    ["rg --files", "a.ts", false],
    ["gofmt -l .", "a.go", true],
    ["gofmt -l .", ".env", false],
  ];
  test.each(rows)("%s reads %s: %s", (line, name, expected) => {
    expect(reads(line, name)).toBe(expected);
  });

  it("git reads none that it does not keep, but where it is to keep them", () => {
    expect(fileFilterOf("git grep", readWords([], {}))).toBeUndefined();
    expect(fileFilterOf("git add", readWords([], {}))).toEqual({ hidden: true, ignored: false });
    const forced = readWords([knownValue("-f")], { flags: "f" });
    expect(fileFilterOf("git add", forced)).toEqual({ hidden: true, ignored: true });
    const untracked = readWords([knownValue("--untracked")], { long: ["untracked"] });
    expect(fileFilterOf("git grep", untracked)).toMatchObject({ hidden: true });
    const outside = readWords([knownValue("--no-index")], { long: ["no-index"] });
    expect(fileFilterOf("git grep", outside)).toEqual(ALL_FILES);
  });

  it("nothing is left out by a name that is only known at run time", () => {
    const read = readWords([knownValue("--exclude"), unknownValue(false)], programOf("grep") ?? {});
    expect(fileFilterOf("grep", read)).toEqual(ALL_FILES);
    const globbed = readWords([knownValue("-g"), unknownValue(false)], programOf("rg") ?? {});
    expect(fileFilterOf("rg", globbed)).toEqual(ALL_FILES);
  });

  it("a folder that is left out is not entered, and a hidden one only where hidden files are read", () => {
    expect(entersFolder(ALL_FILES, ".git")).toBe(true);
    expect(entersFolder({ ...ALL_FILES, hidden: false }, ".git")).toBe(false);
    expect(entersFolder({ ...ALL_FILES, notFolders: ["node_*"] }, "node_modules")).toBe(false);
    expect(entersFolder({ ...ALL_FILES, notFolders: ["[[:alpha:]]"] }, "a")).toBe(true);
  });

  it("what cannot be matched counts as read", () => {
    expect(includesFile({ ...ALL_FILES, only: ["[[:alpha:]]*"] }, ".env")).toBe(true);
    expect(includesFile({ ...ALL_FILES, notFiles: ["[[:alpha:]]*"] }, ".env")).toBe(true);
  });
});
