import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { brief } from "../../../test/brief.ts";
import { Machine } from "../../../test/machine.ts";

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

const seen = async (command: string) => brief(await machine.facts(command));

/** Spellings of one path that a shell makes the same word of. */
const SPELLINGS = [
  "notes.txt",
  "./notes.txt",
  "././notes.txt",
  ".//notes.txt",
  "'notes.txt'",
  '"notes.txt"',
  '"notes".txt',
  "n'otes.t'xt",
  "notes\\.txt",
  "\\n\\o\\t\\e\\s.txt",
  "$'notes.txt'",
  "$'\\x6eotes.txt'",
  "$'\\156otes.txt'",
  "$'\\u006eotes.txt'",
  "note{s,}.txt",
  "src/../notes.txt",
  '""notes.txt',
  "notes.txt''",
];

describe("a file at home is seen under every spelling", () => {
  test.each(SPELLINGS.map((spelling) => [spelling]))("cat ~/%s", async (spelling) => {
    // A word in quotes is put behind the home, which stands outside of them.
    expect(await seen(`cat ~/${spelling}`)).toMatch(/read (?:home|credentials|unknown):/);
  });

  test.each([
    "~",
    "$HOME",
    '"$HOME"',
    "{{home}}",
    "'{{home}}'",
    "~/.",
    "~/src/..",
    "~//",
    "$(echo ~)",
    `\${HOME}`,
  ])("cat %s/notes.txt", async (home) => {
    expect(await seen(`cat ${home}/notes.txt`)).toBe("read home:notes.txt");
  });

  it("but not where the tilde stands for itself", async () => {
    for (const command of ["cat '~/notes.txt'", 'cat "~/notes.txt"', "cat \\~/notes.txt", "cat x~/notes.txt"])
      expect(await seen(command), command).toMatch(/^read [x~]/);
  });
});

describe("a program is known under every spelling of its name", () => {
  const names = [
    "rm",
    "'rm'",
    '"rm"',
    "r\\m",
    "\\rm",
    "r''m",
    "$'rm'",
    "/bin/rm",
    "/usr/bin/rm",
    "command rm",
    "env rm",
  ];
  test.each(names)("%s -r src", async (name) => {
    expect(await seen(`${name} -r src`)).toBe("destroy src/**");
  });

  it("and opaque where it is only known at run time", async () => {
    for (const name of ["$RM", "$(which rm)", "r$x", `\${RM:-rm}`, "r*", "`echo rm`x"])
      expect(await seen(`${name} -r src`), name).toContain("opaque");
  });
});

describe("an option is read under every spelling", () => {
  test.each(["-r", "'-r'", '"-r"', "-\\r", "-''r", "-rf", "-fr", "-f -r", "--recursive", "--recurs", "-R"])(
    "rm %s src",
    async (option) => {
      expect(await seen(`rm ${option} src`)).toBe("destroy src/**");
    },
  );

  test.each([
    "-o out.txt",
    "-oout.txt",
    "'-o' out.txt",
    "--output=out.txt",
    "--output out.txt",
    "-no out.txt",
    "-noout.txt",
  ])("sort %s src/index.ts", async (option) => {
    expect(await seen(`sort ${option} src/index.ts`)).toBe("write out.txt, read src/index.ts");
  });

  it("and behind -- is a path", async () => {
    expect(await seen("rm -- -r")).toBe("destroy -r");
    expect(await seen("cat -- --help")).toBe("read --help");
    expect(await seen("rm -r -- src")).toBe("destroy src/**");
  });

  it("also behind the operands", async () => {
    expect(await seen("rm src -r")).toBe("destroy src/**");
    expect(await seen("sort src/index.ts -o out.txt")).toBe("write out.txt, read src/index.ts");
  });
});

describe("a word becomes several", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["cat src/{index,main}.ts", "read src/index.ts, read src/main.ts"],
    ["cat src/index.ts{,.bak}", "read src/index.ts, read src/index.ts.bak"],
    ["cat {src,docs}/x", "read src/x, read docs/x"],
    ["cat x{1..3}", "read x1, read x2, read x3"],
    ["cat x{a..c}", "read xa, read xb, read xc"],
    ["cat x{1..5..2}", "read x1, read x3, read x5"],
    ["cat x{01..03}", "read x01, read x02, read x03"],
    ["cat 'x{a,b}'", "read x{a,b}"],
    ["cat x{a}", "read x{a}"],
    ["cat x\\{a,b\\}", "read x{a,b}"],
    ["cat {~,src}/notes.txt", "read home:notes.txt, read src/notes.txt"],
    ["F='src/index.ts src/main.ts'; cat $F", "read src/index.ts, read src/main.ts"],
    ["F='src/index.ts src/main.ts'; cat \"$F\"", "read src/index.ts src/main.ts"],
    [`F=src/index.ts; cat \${F}`, "read src/index.ts"],
    ["F=src; cat $F/index.ts", "read src/index.ts"],
    [`F=src; cat \${F}x`, "read srcx"],
    ["set -- a b; cat $1", "read unknown:*, doubt"],
    ["f() { cat $1 $2; }; f src/index.ts src/main.ts", "read src/index.ts, read src/main.ts"],
    ['f() { cat "$@"; }; f src/index.ts', "read src/index.ts"],
    ["for f in src/index.ts src/main.ts; do cat $f; done", "read src/index.ts, read src/main.ts"],
    ["cat $(echo src/index.ts)", "read src/index.ts"],
    ["cat $(cat list.txt)", "read list.txt, read unknown:*, doubt"],
    ["cat `echo src/index.ts`", "read src/index.ts"],
    [`cat \${F:-src}`, "read unknown:*, doubt"],
    [`cat \${F[0]}`, "read unknown:*, opaque"],
    ["IFS=/; F=a/b; cat $F", "read unknown:*, opaque"],
    ["cat src/$((1+1))", "read unknown:*, doubt"],
    ["cat src/ind*.ts", "read src/index.ts"],
    ["cat src/ind?x.ts", "read src/index.ts"],
    ["cat src/[hi]ndex.ts", "read src/index.ts"],
    ["cat 'src/ind*.ts'", "read src/ind*.ts"],
    ["cat src/ind\\*.ts", "read src/ind*.ts"],
    ["cat nothing*here", "read nothing*here"],
  ];
  test.each(rows)("%s", async (command, effects) => {
    expect(await seen(command)).toBe(effects);
  });
});

describe("what shells read differently is not trusted", () => {
  test.each([
    "cat src/index.ts\u00a0",
    "cat\u2003src/index.ts",
    "cat src/index.ts\r",
    "cat src/index.ts\u0000",
    "cat 'src/index.ts",
    'cat "src/index.ts',
    "cat $(cat src/index.ts",
    "cat src/index.ts )",
    `cat \${X@P}`,
    `cat \${!X}`,
    'cat $"src/index.ts"',
    "cat $'src\\'/index.ts'",
    "if true; then cat src/index.ts",
    "cat <<END\nx",
    "((x[$(id)]=1))",
    "coproc cat src/index.ts",
    "select x in a; do",
  ])("%j", async (command) => {
    expect(await seen(command)).toContain("opaque");
  });

  it("and comments are none of it", async () => {
    expect(await seen("cat src/index.ts # rm -rf ~")).toBe("read src/index.ts");
    expect(await seen("cat src/index.ts#x")).toBe("read src/index.ts#x");
    expect(await seen("# nothing\ncat src/index.ts")).toBe("read src/index.ts");
  });
});
