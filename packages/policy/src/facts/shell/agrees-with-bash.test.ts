import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { requirement } from "../../../../../scripts/test/requirement.ts";
import type { Action } from "../../action.ts";
import { realFiles } from "../files.ts";
import { gatherFacts } from "../gather.ts";
import { loadToolTables } from "../tool/tool-call.ts";

const BASH = "/bin/bash";
const hasBash = spawnSync(BASH, ["-c", `exit \${BASH_VERSINFO[0]}`]).status === 5;
const folder = realpathSync(mkdtempSync(join(tmpdir(), "reins-bash-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Programs that we read and that bash, without a path, does not find: it calls the handler with their words. */
const program = fc.constantFrom("cat", "ls", "wc", "head", "tac", "'cat'", "c\\at", 'l""s');
const atom = fc.constantFrom(
  "a",
  "b",
  "-x",
  "'q r'",
  '"d e"',
  '"$V"',
  "$V",
  `\${V}`,
  "$(ls z)",
  "`wc y`",
  '"$(ls "n m")"',
  "a\\ b",
  "$'\\x41'",
  "a#h",
  '"a"#',
  "{p,q}",
  "a{1..3}",
  "*",
  "~",
  "~/x",
  "k=~/x",
  "''",
  '""',
  "$@",
  "é",
  "a'b'c\"d\"",
  '"x $(wc k) y"',
  "x\\\ny",
  "#c",
  `\${V:-$(ls df)}`,
  "$((1+2))",
  "\\\n",
  "<(ls p)",
  "1",
  "%",
  '"\\$V"',
  "=",
  "[",
  "]",
  "{",
  "}",
  "!",
  "do",
  "fi",
  "\u00a0",
  '$"t"',
  '"\\\\"',
  "'",
  '"',
  "`",
  "$(",
  ")",
  "(",
  "\\",
);
const word = fc.array(atom, { minLength: 1, maxLength: 2 }).map((atoms) => atoms.join(""));
const redirect = fc.constantFrom(
  "",
  "",
  "",
  "",
  " > f1",
  " >f2",
  " 2>&1",
  " < g",
  " &> f3",
  " >> f4",
  " <<< w",
  ' > "f 5"',
  " > f6 more",
  " >&2",
  " <<E\nx $(ls hh)\nE\n",
  " <<'E'\n$(ls no)\nE\n",
  " <<E | wc\ny\nE\n",
  " <<E && tac t\nz\nE\n",
  " <<-E\n\tE\n",
);
const separator = fc.constantFrom(
  "; ",
  " && ",
  " || ",
  " | ",
  "\n",
  ";",
  "&&",
  " # c\n",
  "\n# c\n",
  " \\\n&& ",
  " & ",
);
const { script } = fc.letrec<{ script: string; statement: string }>((tie) => ({
  statement: fc.oneof(
    { withCrossShrink: true, depthSize: "small" },
    {
      weight: 8,
      arbitrary: fc
        .tuple(fc.constantFrom("", "", "", "V=1 "), program, fc.array(word, { maxLength: 3 }), redirect)
        .map(([before, name, words, after]) => `${before}${[name, ...words].join(" ")}${after}`),
    },
    { weight: 1, arbitrary: tie("script").map((body) => `( ${body} )`) },
    { weight: 1, arbitrary: tie("script").map((body) => `{ ${body}\n}`) },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("script"), tie("script")).map(([test, body]) => `if ${test}\nthen ${body}\nfi`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(word, tie("script"))
        .map(([value, body]) => `for i in ${value} k; do ${body}\ndone`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(word, tie("script"))
        .map(([value, body]) => `case ${value} in a) ${body}\n;; *) ls star;; esac`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(word, tie("script")).map(([value, body]) => `f() { ${body}\n}; f ${value}`),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "[ -f a ]",
        "[[ a == b* ]]",
        "((1+1))",
        "V=$(ls s)",
        "V=a",
        "! cat n",
        "set -- 1 2",
        "eval 'ls ev'",
        "cd .",
        "true",
        "x=(1 2)",
        "echo hi",
        "read r < g",
      ),
    },
  ),
  script: fc
    .tuple(tie("statement"), fc.array(fc.tuple(separator, tie("statement")), { maxLength: 2 }))
    .map(([first, rest]) => first + rest.flat().join("")),
}));

/** Statements that change what later words stand for: variables, functions, arguments, the working folder. */
const change = fc.constantFrom(
  "V=1",
  "V=a",
  "V+=b",
  "V=$W",
  "W=c",
  "W='V=7'",
  "unset V",
  "unset -f f",
  "unset f",
  "let V=5",
  "let 'W=1,V=2'",
  "((V=3))",
  "((V++))",
  "((W))",
  ": $((V=4))",
  `: \${V:=d}`,
  `: \${W:-$((V=6))}`,
  `: \${x[V=8]}`,
  `: \${W:V=9:1}`,
  "[[ V=10 -eq 1 ]]",
  "[[ W -eq 1 ]]",
  "x[V=11]=1",
  "x=([V=12]=1)",
  "declare V=e",
  "declare -i V=13",
  "readonly U=1",
  "export V=g",
  "eval V=h",
  "eval 'f() { ls ev; }'",
  "printf -v V i",
  "read V <<< j",
  "for V in k l; do :; done",
  "for V in *; do :; done",
  "f() { ls one; }",
  "f() { V=m; }",
  'f() { local V=n; ls "$V"; }',
  "g() { f; }",
  "set -- o p",
  "set -- $V",
  "shift",
  "mkdir d; cd d",
  "cd ..",
  "cd .",
  "IFS=a",
  "(V=q)",
  "{ V=r; }",
  "V=s true",
  "V=t | cat",
  "true || V=u",
  "false || V=v",
  "true && V=w",
  "if cat; then V=x; fi",
  "case $V in a) V=y;; *) W=z;; esac",
  "trap 'ls \"$V\"' EXIT",
  "alias ls=cat",
  'while [ "$V" != aa ]; do V=aa; done',
  'until [ "$V" = bb ]; do V=bb; done',
  "for ((i=0;i<2;i++)); do V=$i; done",
  "select V in a; do break; done <<< 1",
);
/** Statements whose words show what was changed. */
const look = fc.constantFrom(
  'cat "$V"',
  "cat $V",
  'cat x"$V"y $W',
  "f",
  "g",
  "ls $1 $2",
  'ls "$@"',
  `ls "\${V}"`,
  "cat $((V))",
  'cat < "g$V"',
  'ls > "o$V"',
  "cat *",
  'echo "$(cat "$V")"',
  "$V x",
  "command f",
);
const around = fc.constantFrom<(body: string) => string>(
  (body) => body,
  (body) => body,
  (body) => `for i in 1 2; do ${body}\ndone`,
  (body) => `for i in *; do ${body}\ndone`,
  (body) => `for i in * k; do ${body}\ndone`,
  (body) => `i=; while [ "$i" != xx ]; do ${body}\ni=x$i; done`,
  (body) => `h() { ${body}\n}; h; h`,
  (body) => `select i in 1 2; do ${body}\ndone <<< $'1\\n2\\n1'`,
  (body) => `if true; then ${body}\nfi`,
  (body) => `{ ${body}\n}`,
);
const stateful = fc
  .array(fc.tuple(around, fc.array(fc.oneof(change, look), { minLength: 1, maxLength: 3 })), {
    minLength: 1,
    maxLength: 3,
  })
  .map((parts) => parts.map(([wrap, lines]) => wrap(lines.join("\n"))).join("\n"));

interface Run {
  readonly calls: readonly (readonly string[])[];
  readonly created: readonly string[];
}

let runs = 0;

/** What bash calls and creates. Every process writes its own log, because lines of several would mix. */
function runInBash(text: string): Run & { readonly cwd: string } {
  runs += 1;
  const [cwd, log] = [join(folder, `w${runs}`), join(folder, `l${runs}`)];
  for (const path of [cwd, log]) mkdirSync(path);
  for (const name of ["g", "g2"]) writeFileSync(join(cwd, name), "one\ntwo\n");
  spawnSync(BASH, ["--norc", "-c", text], {
    cwd,
    timeout: 2_000,
    killSignal: "SIGKILL",
    input: "",
    env: {
      PATH: "/nonexistent",
      HOME: folder,
      LOG: log,
      FUNCNEST: "3",
      "BASH_FUNC_command_not_found_handle%%": `() {  printf '%s\\0' "$#" "$@" >> "$LOG/$BASHPID"\n}`,
    },
  });
  const calls = readdirSync(log).flatMap((name) =>
    callsIn(readFileSync(join(log, name), "utf8").split("\0")),
  );
  return { cwd, calls, created: readdirSync(cwd).filter((name) => !/^g2?$/.test(name)) };
}

function callsIn(parts: readonly string[]): readonly (readonly string[])[] {
  const calls: string[][] = [];
  for (let at = 0; at < parts.length - 1; at += 1 + Number(parts[at])) {
    calls.push(parts.slice(at + 1, at + 1 + Number(parts[at])));
  }
  return calls;
}

/** Whether an effect stands for a call: unknown words and globs may be any number of words. */
function stands(words: readonly (string | null)[], call: readonly string[]): boolean {
  const [word, ...rest] = words;
  if (word === undefined) return call.length === 0;
  if (word === null || /[*?[]/.test(word)) {
    return call.some((_, at) => stands(rest, call.slice(at))) || stands(rest, []);
  }
  const [given, ...others] = call;
  const isSame = given === word || (word === "/dev/fd/63" && /^\/dev\/fd\/\d+$/.test(given ?? ""));
  return isSame && stands(rest, others);
}

async function missedIn(
  text: string,
): Promise<{ readonly action: Action; readonly missed: readonly unknown[] }> {
  const { cwd, calls, created } = runInBash(text);
  const context = {
    roots: [cwd],
    cwd,
    home: folder,
    harness: "/nowhere",
    agent: "claude-code",
    tables,
    files: realFiles,
  };
  const payload = { tool_name: "Bash", arguments: { command: text } };
  const event = { event_type: "pre_action" as const, session_id: "s", agent_id: "a", depth: 0, payload };
  const action = await gatherFacts(event, context);
  const unseen = calls.filter(
    ([name, ...words]) =>
      !action.effects.some(
        (effect) => effect.kind === "exec" && effect.command === name && stands(effect.arguments, words),
      ),
  );
  const unwritten = created.filter(
    (name) =>
      !action.effects.some(
        (effect) =>
          effect.kind === "write" && (effect.place === "unknown" || effect.path === join(cwd, name)),
      ),
  );
  return { action, missed: [...unseen, ...unwritten] };
}

const tables = loadToolTables();

requirement(
  "bash 5",
  hasBash,
  "there is none here",
)("what we say a script runs", () => {
  it("holds everything that bash runs and creates, unless we say that we do not know", async () => {
    let clear = 0;
    await fc.assert(
      fc.asyncProperty(script, async (text) => {
        const { action, missed } = await missedIn(text);
        if (action.opaque) return;
        clear += 1;
        expect(missed, text).toEqual([]);
      }),
      { numRuns: Number(process.env.REINS_BASH_RUNS ?? 100) },
    );
    expect(clear).toBeGreaterThan(0);
  }, 600_000);

  it("holds it also where a script changes what its words stand for", async () => {
    let clear = 0;
    await fc.assert(
      fc.asyncProperty(stateful, async (text) => {
        const { action, missed } = await missedIn(text);
        if (action.opaque) return;
        clear += 1;
        expect(missed, text).toEqual([]);
      }),
      { numRuns: Number(process.env.REINS_BASH_RUNS ?? 100) },
    );
    expect(clear).toBeGreaterThan(0);
  }, 600_000);
});
