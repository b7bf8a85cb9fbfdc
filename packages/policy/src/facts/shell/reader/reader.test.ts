import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type ParseText, readScript, shellParser } from "./reader.ts";

let parse: ParseText;

beforeEach(async () => {
  parse = await shellParser();
});

describe("a script", () => {
  it("is read into what a shell does", () => {
    expect(readScript('V=1 cat "a $b"c < f', parse)).toEqual({
      body: {
        kind: "command",
        assignments: [{ name: "V", value: [{ kind: "text", text: "1", quoted: false }], appends: false }],
        words: [
          [{ kind: "text", text: "cat", quoted: false }],
          [
            { kind: "text", text: "a ", quoted: true },
            { kind: "variable", name: "b", quoted: true },
            { kind: "text", text: "c", quoted: false },
          ],
        ],
        redirects: [{ kind: "file", operator: "<", target: [{ kind: "text", text: "f", quoted: false }] }],
      },
      unclear: [],
    });
  });

  it("is read once as long as it is remembered", () => {
    expect(readScript("ls -la", parse)).toBe(readScript("ls -la", parse));
  });

  it.each([
    ["a continued line inside a word", "cat a\\\nb"],
    ["a # in backticks", "echo `ls #`; rm x\necho `y`"],
    ["words that touch", 'cat $"x"'],
    ["a blank that is none", "cat\u00a0x"],
    ["a carriage return", "ls\r\nrm x"],
    ["a NUL", "ls\0"],
    ["half a character", "ls \ud800"],
    ["an escaped blank at a word's start", "cat \\ x"],
    ["two here-documents", "cat <<A <<B\nA\nB\n"],
    ["a here-document without an end", "cat <<A\nx"],
    ["quotes without an end", "echo 'a"],
    ["a comment behind an array", "x=(1)# c\nls"],
    ["a test of two lines", "[ -f a\n]"],
    ["case marks outside a case", "ls ;; rm"],
    ["a variable that is transformed", `echo "\${x@P}"`],
    ["nesting beyond reason", `${"(".repeat(200)}ls${")".repeat(200)}`],
    ["a length beyond reason", "a".repeat(70_000)],
    ["what would take minutes", "a=(".repeat(8_000)],
    ["what breaks the parser", "a|".repeat(20_000)],
  ])("with %s is unclear", (_, text) => {
    expect(readScript(text, parse).unclear).not.toEqual([]);
  });

  it("is read by another parser after one broke, however often, and by no broken one", async () => {
    // Where no time passes, no deadline comes before the memory is used up.
    vi.spyOn(performance, "now").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
    for (let time = 0; time < 3; time += 1) {
      const broken = await shellParser();
      expect(readScript("b|".repeat(20_000 + time), broken).unclear).not.toEqual([]);
      expect(readScript(`ls -l -a ${time}`, broken).unclear).not.toEqual([]);
      expect(readScript(`ls -l -a ${time}`, await shellParser()).unclear).toEqual([]);
    }
  });

  it.each([
    "ls -la | grep x > y 2>&1",
    "cat <<'EOF' > f\n$(not run) 'x\nEOF\nls",
    "cat <<EOF | wc\n$x `y` $(z)\nEOF",
    "if a; then b; elif c; then d; else e; fi",
    "for ((i=0; i<3; i++)); do echo $i; done",
    'while read -r l; do echo "$l"; done < <(ls)',
    "case $x in a|b) c;; *) d;; esac",
    "f() { local x=1; echo $x; }; f",
    "[[ $x =~ ^[a-z]+$ && -f y ]] && echo $((x + 1))",
    `a=(1 2 3); echo \${a[@]} \${#a[@]} \${a[0]}`,
    'echo "a $(echo "b $(echo c)") d"',
    "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"",
    "# a comment\nls # another\n",
    "echo a\\\n  b",
    "echo 'é' \"漢\" 𝒳",
    "",
  ])("such as %j is clear", (text) => {
    expect(readScript(text, parse).unclear).toEqual([]);
  });
});
