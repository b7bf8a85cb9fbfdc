import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { Machine } from "../../../test/machine.ts";
import { isHarmless } from "../../conditions/conditions.ts";

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

const harmless = async (command: string) => isHarmless(await machine.facts(command));

/** Where the paths lie that a command reads. */
async function readIn(command: string): Promise<readonly string[]> {
  const { effects } = await machine.facts(command);
  return [...new Set(effects.flatMap((effect) => (effect.kind === "read" ? [effect.place] : [])))];
}

/** Ways to go to the home, each of which the shell that runs it may have gone. */
const GOING = [
  "cd ~",
  "cd $HOME",
  "cd ~/.",
  "pushd ~",
  "time cd ~",
  "time -p cd ~",
  "command cd ~",
  "builtin cd ~",
  "eval cd ~",
  "eval 'cd ~'",
  "{ cd ~; }",
  "if cd ~; then :; fi",
  "if true; then cd ~; fi",
  "if false; then :; else cd ~; fi",
  "case x in x) cd ~ ;; esac",
  "for i in 1; do cd ~; done",
  "for i in 1 2; do cd ~; break; cd {{workspace}}; done",
  "while read x; do cd ~; break; done < package.json",
  "until cd ~; do true; done",
  "f() { cd ~; }; f",
  "f() { cd ~; return; cd {{workspace}}; }; f",
  "f() { time cd ~; }; f",
  "true && cd ~",
  "false || cd ~",
  "true && { cd ~; }",
  "cat package.json | cd ~",
  "cd src; cd ~",
  "D=~; cd $D",
  'D=~; cd "$D"',
  "cd ~ || exit 1",
];

describe("a command behind a change of folder starts in the new one", () => {
  test.each(GOING)("%s; cat notes.txt", async (going) => {
    const places = await readIn(`${going}; cat notes.txt`);
    expect(places.includes("home") || places.includes("unknown")).toBe(true);
    expect(await harmless(`${going}; cat notes.txt`)).toBe(false);
  });

  test.each(GOING.filter((going) => !/^(?:while|until|cat|true|false)/.test(going)))(
    "%s && cat notes.txt",
    async (going) => {
      expect(await harmless(`${going} && cat notes.txt`)).toBe(false);
    },
  );

  it("but not what a subshell does to its own", async () => {
    for (const command of ["(cd ~); cat notes.txt", "cd ~ & cat notes.txt", "bash -c 'cd ~'; cat notes.txt"])
      expect(await readIn(command), command).toEqual(["workspace"]);
  });

  it("and what follows a negated change runs where that failed", async () => {
    expect(await readIn("! cd ~ && cat notes.txt")).toEqual(["workspace"]);
    expect(await readIn("! cd src/none && cat notes.txt")).toEqual(["workspace"]);
    expect(await readIn("! cd ~ || cat notes.txt")).toEqual(["home"]);
  });

  it("ignores what a program does that is no part of the shell", async () => {
    for (const program of ["nohup", "timeout 5", "nice -n 3", "env", "setsid"])
      expect(await readIn(`${program} cd ~; cat notes.txt`), program).toEqual(["workspace"]);
  });
});

/** Ways to give a variable that was `src` another value, each of which may have come to pass. */
const SETTING = [
  "D=~",
  "D=$HOME",
  "eval D=~",
  "eval 'D=~'",
  "{ D=~; }",
  "time eval D=~",
  "time read D",
  "read D",
  "read -r D < package.json",
  "printf -v D %s x",
  "time printf -v D %s x",
  "unset D",
  "export D=~",
  "declare D=~",
  "readonly D=~",
  "if true; then D=~; fi",
  "if true; then D=~; else D=src; fi",
  "if false; then :; elif D=~; then :; fi",
  "case x in x) D=~ ;; *) D=src ;; esac",
  "for D in ~; do :; done",
  "for x in ~ src; do D=$x; break; done",
  "for x in ~ src; do D=$x; continue; D=src; done",
  "for a in 1; do for b in 1; do D=~; break 2; done; D=src; done",
  "while read x; do D=~; break; D=src; done < package.json",
  "while read x; do D=~; done < package.json",
  "f() { D=~; }; f",
  "f() { D=~; return; D=src; }; f",
  "f() { D=~; return 0; D=src; }; time f",
  "f() { if true; then D=~; return; fi; D=src; }; f",
  "true && D=~",
  "false || D=~",
  "cat package.json | read D",
  "read E; D=$E",
  "trap 'D=~' DEBUG",
  "trap 'D=~' USR1",
  "X=src; Y=src; for i in $(seq 9); do Z=$D; D=$Y; Y=$X; X=~; done",
  "((D=1))",
  ": $((D=1))",
  "let D=1",
];

describe("a variable is what it was last set to, on every way through the script", () => {
  test.each(SETTING)("D=src; %s; cat $D/a", async (setting) => {
    const action = await machine.facts(`D=src; ${setting}; cat $D/a`);
    const read = action.effects.filter((effect) => effect.kind === "read");
    const onlySource = read.every((effect) => effect.path === `${machine.workspace}/src/a`);
    expect(onlySource && !action.opaque && read.length > 0, JSON.stringify(read)).toBe(false);
  });

  it("also where the value it had before comes back", async () => {
    expect(await harmless("D=~; f() { local D=src; }; f; cat $D/a")).toBe(false);
    expect(await harmless("D=~; f() { declare D=src; }; f; cat $D/a")).toBe(false);
    expect(await harmless("D=~; f() { typeset D=src; }; f; cat $D/a")).toBe(false);
    expect(await harmless("D=~; if true; then :; elif D=src; then :; fi; cat $D/a")).toBe(false);
    expect(await harmless("D=~; true || D=src; cat $D/a")).toBe(false);
    expect(await harmless("D=~; (D=src); cat $D/a")).toBe(false);
    expect(await harmless("D=~; while read x; do D=src; done; cat $D/a")).toBe(false);
  });

  it("in a loop until nothing new is found", async () => {
    const loop = (list: string, use: string) =>
      `A=src; B=src; C=src; for i in ${list}; do ${use}; C=$B; B=$A; A=~; done`;
    expect(await harmless(loop("$(seq 9)", "cat $C/a"))).toBe(false);
    expect(await harmless(loop("1 2 3 4", "cat $C/a"))).toBe(false);
    expect(await harmless(loop("1 2 3", "cat $C/a"))).toBe(true);
  });

  it("in a case that goes on with the next one", async () => {
    expect(await harmless("D=src; case x in x) D=~ ;& y) cat $D/a ;; esac")).toBe(false);
    expect(await harmless("D=src; case x in x) D=~ ;;& *) cat $D/a ;; esac")).toBe(false);
    expect(await harmless("D=src; case x in x) D=~ ;; *) cat $D/a ;; esac")).toBe(true);
  });

  it("and a number stays one, whatever arithmetic makes of it", async () => {
    expect(await harmless("i=0; i=$((i+1)); echo $((i*2)) > out.txt")).toBe(true);
    expect((await machine.facts("N=10; ((N=99999999999)); head -c $N /dev/zero > x")).doubts).not.toEqual([]);
    expect((await machine.facts("i=x[$(id)]; echo $((i+1))")).opaque).toBe(true);
  });
});

describe("a trap runs later", () => {
  it("with what the script has changed by then", async () => {
    expect(await harmless("D=src; trap 'cat $D/a' EXIT; D=~")).toBe(false);
    expect(await harmless("D=src; trap 'cat $D/a' EXIT; D=~; exit; D=src")).toBe(false);
    expect(await harmless("D=src; trap 'cat $D/a' EXIT; read D")).toBe(false);
    expect(await harmless("trap 'cat notes.txt' EXIT; cd ~")).toBe(false);
    expect(await harmless("trap 'cat notes.txt' INT TERM; cd ~; cd {{workspace}}")).toBe(false);
  });

  it("and is known where nothing has changed", async () => {
    expect(await harmless("D=src; trap 'cat $D/a' EXIT; ls")).toBe(true);
    expect(await harmless('t=$(mktemp); trap \'rm -f "$t"\' EXIT; echo x > "$t"')).toBe(true);
    expect(await harmless("trap - EXIT; trap '' INT; ls")).toBe(true);
  });

  it("so that one which changes the commands in between makes them opaque", async () => {
    for (const signal of ["DEBUG", "ERR", "RETURN", "USR1", "INT"])
      expect((await machine.facts(`trap 'cd ~' ${signal}; cat notes.txt`)).opaque, signal).toBe(true);
  });
});

/** Programs that start another one, which knows no function of the shell. */
const STARTING = [
  "env %",
  "nohup %",
  "timeout 5 %",
  "nice -n 3 %",
  "ionice -c 3 %",
  "setsid %",
  "stdbuf -o L %",
  "command %",
  "builtin %",
  "exec %",
  "xargs %",
  "flock /tmp/l %",
  "find src -exec % {} ';'",
  "env nice timeout 5 %",
];

describe("a program that starts another", () => {
  test.each(STARTING)("%s does not run a function of that name", async (starting) => {
    const action = await machine.facts(`deploy() { true; }; ${starting.replace("%", "deploy")}`);
    expect(action.opaque).toBe(true);
    expect(action.effects).toContainEqual(expect.objectContaining({ command: "deploy", opaque: true }));
  });

  it("runs one if the shell itself starts it", async () => {
    expect(await harmless("deploy() { true; }; deploy")).toBe(true);
    expect(await harmless("deploy() { true; }; time deploy")).toBe(true);
  });

  test.each([
    "watch 'cat $D/a'",
    "flock /tmp/l -c 'cat $D/a'",
    "script -c 'cat $D/a' /dev/null",
    "bash -c 'cat $D/a'",
  ])("%s does not see a variable of the shell", async (command) => {
    const { effects } = await machine.facts(`D=src; ${command}`);
    expect(effects).not.toContainEqual(expect.objectContaining({ path: `${machine.workspace}/src/a` }));
  });
});

/** Ways to make a link, from wherever. */
const LINKING = [
  "ln -s ~ k",
  "(ln -s ~ k)",
  "{ ln -s ~ k; }",
  "bash -c 'ln -s ~ k'",
  "sh -c 'ln -s ~ k' &",
  "ln -s ~ k | cat",
  "env ln -s ~ k",
  "nohup ln -s ~ k",
  "time ln -s ~ k",
  "timeout 5 ln -s ~ k",
  "x=$(ln -s ~ k)",
  "if true; then ln -s ~ k; fi",
  "f() { ln -s ~ k; }; f",
  "f() { ln -s ~ k; }; x=$(f)",
  "for i in 1; do ln -s ~ k; done",
  "cp -P link-home k",
  "(cp -P link-home k)",
  "env mv docs k",
];

describe("a link that was made leads anywhere from then on", () => {
  test.each(LINKING)("%s; cat k/notes.txt", async (linking) => {
    expect(await readIn(`${linking}; cat k/notes.txt`)).toContain("unknown");
  });

  it("in the next turn of a loop, too", async () => {
    expect(await readIn("while read x; do cat k/notes.txt; (ln -s ~ k); done")).toContain("unknown");
  });
});

describe("a folder given to tar is about the words behind it", () => {
  it("so that several leave open where the words start", async () => {
    expect(await readIn("tar cf o.tar -C src index.ts")).toEqual(["workspace"]);
    expect(await readIn("tar cf o.tar -C ~ notes.txt")).toEqual(["home"]);
    expect(await readIn("tar cf o.tar -C ~ notes.txt -C {{workspace}} src")).toEqual(["unknown"]);
    expect(await readIn("tar cf o.tar --directory=~ notes.txt -C {{workspace}} src")).toEqual(["unknown"]);
  });
});

/** Ways to set a variable that do not look like it. The shell sets `m` to 4755, which makes a program run as its owner. */
const ASSIGNING = [
  "let m=4755",
  "let 'x=1,m=4755'",
  "(( m=4755 ))",
  ": $((m=4755))",
  ": $[m=4755]",
  "[[ m=4755 -eq 0 ]]",
  "[[ 'm=4755' -eq 0 ]]",
  "[[ 0 -lt m=4755 ]]",
  "e='m=4755'; (( e ))",
  "e='m=4755'; d=e; (( d ))",
  "e='m=4755'; [[ e -eq 0 ]]",
  "e='m=4755'; : $((e))",
  "e='m=4755'; let e",
  `: \${a[m=4755]}`,
  `: \${a:m=4755}`,
  `: \${a:0:m=4755}`,
  "a[m=4755]=1",
  "a=([m=4755]=1)",
  "for ((m=4755;m<1;)); do :; done",
  "printf -v m 4755",
  "read m <<< 4755",
  "declare -i m=4755",
  "for m in 4755; do :; done",
  "select m in 4755; do break; done <<< 1",
  "eval m=4755",
  `: \${m:=4755}`,
  "unset m",
  "f() { m=4755; }; f",
  "true && m=4755",
  "{ m=4755; }",
  "case x in x) m=4755;; esac",
  "until m=4755; do :; done",
];
const COMPARING = [
  "[[ m -eq 4755 ]]",
  "(( m == 4755 ))",
  "(( m <= 4755 ))",
  "let 'm==4755'",
  "(m=4755)",
  ": $((m))",
];

describe("a variable is what it was set to last", () => {
  test.each(ASSIGNING)("%s", async (statement) => {
    expect(await harmless(`m=644; ${statement}; chmod $m notes.txt`)).toBe(false);
    expect(await harmless(`m=644; if ls; then ${statement}; fi; chmod $m notes.txt`)).toBe(false);
  });

  test.each(COMPARING)("and not changed by a look at it: %s", async (statement) => {
    expect(await harmless(`m=644; ${statement}; chmod $m notes.txt`)).toBe(true);
  });
});

describe("a loop goes round", () => {
  /** Each turn reads what the one before named: the second reads a file with keys. */
  const body = "do cat $f; f=.env; done";

  test.each([
    "for i in 1 2;",
    "for i in docs/*.md;",
    "for i in docs/*.md docs/*.txt;",
    "for i in a docs/*;",
    "for i in {1..9};",
    "for i in $X;",
    "set -- a b; for i;",
    "select i in 1;",
    "select i;",
    "while read i;",
    "until false;",
    "for ((;;));",
  ])("%s", async (head) => {
    expect(await harmless(`f=notes.txt; ${head} ${body}`)).toBe(false);
  });

  test.each(["for i in 1;", "for i in 'docs/*.md';"])("once: %s", async (head) => {
    expect(await harmless(`f=notes.txt; ${head} ${body}`)).toBe(true);
  });

  test.each(["for i in docs/*.md; do cat $i; done", "for i in docs/*.md src/*.ts; do wc -l $i; done"])(
    "over files that are known: %s",
    async (command) => {
      expect(await harmless(command)).toBe(true);
    },
  );
});

describe("a function that is gone is a program of that name", () => {
  test.each(["unset -f foo", "unset foo", "unset -f $X", "unset -f foo bar", "if ls; then unset -f foo; fi"])(
    "%s",
    async (statement) => {
      expect((await machine.facts(`foo() { ls; }; ${statement}; foo`)).opaque).toBe(true);
    },
  );

  test.each(["unset -f bar", "unset bar", "(unset -f foo)"])("but not by %s", async (statement) => {
    expect(await harmless(`foo() { ls; }; ${statement}; foo`)).toBe(true);
  });
});

describe("what is exported reaches programs", () => {
  test.each([
    "export FOO=1",
    'export "FOO=1"',
    "FOO=1; export FOO",
    "declare -x FOO=1",
    "declare -gx FOO=1",
    "declare -x FOO",
    'declare -x "FOO=1"',
    "typeset -x FOO=1",
    "readonly -x FOO=1",
    "f() { local -x FOO=1; git log; }; f",
    "set -a; FOO=1",
    "env FOO=1 git log",
    "FOO=1 git log",
  ])("%s", async (statement) => {
    expect((await machine.facts(`${statement}; git log`)).opaque).toBe(true);
  });

  test.each(["FOO=1", "declare FOO=1", "declare -r FOO=1", "export NODE_ENV=test", "declare -x CI=1"])(
    "but %s does not change what they do",
    async (statement) => {
      expect(await harmless(`${statement}; git log`)).toBe(true);
    },
  );
});
