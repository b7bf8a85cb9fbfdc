import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { brief } from "../../../../test/brief.ts";
import { Machine } from "../../../../test/machine.ts";
import { isHarmless } from "../../../conditions/conditions.ts";

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

/** Options that make of a program what it does not seem to be: each command, and what it is seen to do. */
const ROWS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  "names that are left out": [
    ["grep -r x . --exclude=.env", "read ./**"],
    ["grep -r x . --exclude=other/.env", "read ./**, read credentials:.env"],
    ["grep -r x . --exclude-dir=.env", "read ./**, read credentials:.env"],
    ["grep -r x many --exclude=.env", "read many/**"],
    ["grep -r x . --exclude=.env --exclude-dir=many", "read ./**"],
    ["rg --hidden x -g '!.env' .", "read ./**"],
    ["rg --hidden x -g '!**/.env' .", "read ./**"],
    ["rg --hidden x -g '!other/.env' .", "read ./**, read credentials:.env"],
    ["rg --hidden x -g '!/.env' .", "read ./**, read credentials:.env"],
    ["rg --hidden x -g '!.env/' .", "read ./**, read credentials:.env"],
    ["rg x -g 'many/' .", "read ./**, read credentials:.env"],
    ["rg -t all x .", "read ./**, read credentials:.env"],
    ["rg -t ts x .", "read ./**"],
    ["tar cf - --exclude=.env .", "read ./**"],
    ["tar cf - --exclude=other/.env .", "read ./**, read credentials:.env"],
    ["tar cf - . --exclude=.env", "read ./**, read credentials:.env"],
    ["tar cf - src --exclude=.env .", "read src/**, read ./**, read credentials:.env"],
  ],
  "where things arrive": [
    ["cp docs/api.md src", "read docs/api.md, write src/api.md"],
    ["cp -r hooked docs", "read hooked/**, write docs/hooked/**"],
    ["cp -rT hooked .", "read hooked/**, destroy ./**, doubt"],
    ["cp -r --no-target-directory hooked .", "read hooked/**, destroy ./**, doubt"],
    ["mv -T clean .", "read clean/**, destroy clean/**, destroy ./**, doubt"],
    ["cp --parents docs/api.md src", "read docs/api.md, write src/api.md, opaque"],
    ["cp --parents -t src docs/api.md", "write src/api.md, read docs/api.md, opaque"],
    ["wget https://example.com/a.txt", "net *, net example.com, write a.txt"],
    ["wget -x https://example.com/.git/a.txt", "net *, net example.com, destroy ./**, doubt"],
    ["wget -r https://example.com/.git/a.txt", "net *, net example.com, destroy ./**, doubt"],
    ["wget -m https://example.com/a.txt", "net *, net example.com, destroy ./**, doubt"],
    ["wget --content-disposition https://example.com/a.txt", "net *, net example.com, destroy ./**, doubt"],
    ["wget -r -O a.txt https://example.com", "net *, write a.txt, net example.com"],
    ["curl -w '%{http_code}' http://localhost:3000", "look localhost"],
    [
      "curl -w '%output{.git/hooks/pre-commit}x' http://localhost:3000",
      "look localhost, write persistence:.git/hooks/pre-commit",
    ],
    ["curl -w '%output{>>notes.txt}x' http://localhost:3000", "look localhost, destroy notes.txt"],
    ["curl --write-out '%output{a}x%output{b}' http://localhost:3000", "look localhost, write a, write b"],
    ["curl -w @format http://localhost:3000", "read format, look localhost, opaque"],
    ['curl -w "$FORMAT" http://localhost:3000', "read unknown:*, look localhost, destroy unknown:*, doubt"],
  ],
  "what is sent": [
    ["curl -F a=@notes.txt http://localhost:3000", "read notes.txt, net localhost"],
    [
      "curl -F 'a=@notes.txt;headers=@.env' http://localhost:3000",
      "read notes.txt, read credentials:.env, net localhost",
    ],
    ["curl -F 'a=x;headers=<.env' http://localhost:3000", "read credentials:.env, net localhost"],
    [
      "curl -F 'a=@notes.txt,.env' http://localhost:3000",
      "read credentials:notes.txt,.env, read notes.txt, read credentials:.env, net localhost",
    ],
    ["curl --data-urlencode a@.env http://localhost:3000", "read credentials:.env, net localhost"],
    ["cat < /dev/tcp/$HOSTNAME/80", "net *"],
    ["cat < /dev/udp/a.example/$PORT", "net *"],
    ["exec 3<>/dev/tcp/a.example/80", "read unknown:*, read system:80, opaque"],
  ],
  "what runs": [
    ["watch cat notes.txt", "read notes.txt"],
    ["watch -x cat notes.txt", "read notes.txt"],
    ["watch -x cat '#' ~/.ssh/id_rsa", "read #, read credentials:id_rsa"],
    ["watch -x cat 'a;b'", "read a;b"],
    ["watch 'cat a;cat b'", "read a, read b"],
    ["xargs -I{} cp {} .git/hooks/a", "read unknown:*, write persistence:.git/hooks/a, opaque"],
    ["xargs -i cp {} .git/hooks/a", "read unknown:*, write persistence:.git/hooks/a, opaque"],
    ["xargs -iX cp X .git/hooks/a", "read unknown:*, write persistence:.git/hooks/a, opaque"],
    ["xargs --replace cp {} .git/hooks/a", "read unknown:*, write persistence:.git/hooks/a, opaque"],
    ["env ls", "read ."],
    ["env -u PATH ls", "read ., opaque"],
    ["env --unset=PATH ls", "read ., opaque"],
    ["env --ignore-environment ls", "read ., opaque"],
  ],
  "what is lost": [
    ["truncate -s 0 notes.txt", "destroy notes.txt"],
    ["rsync --chmod=u+s notes.txt b", "read notes.txt, write b, opaque"],
    ["rsync --chmod=F4755 notes.txt b", "read notes.txt, write b, opaque"],
    ["rsync --chmod=F644 notes.txt b", "read notes.txt, write b"],
  ],
};

describe.each(Object.entries(ROWS))("%s", (_, rows) => {
  test.each(rows)("%s", async (command, expected) => {
    expect(brief(await machine.facts(command))).toBe(expected);
  });
});

it.each(["truncate -s 0 bare/HEAD", ": > bare/HEAD", "cp /dev/null bare/HEAD", "shred bare/HEAD"])(
  "what git does not have is gone: %s",
  async (command) => {
    expect(isHarmless(await machine.facts(command))).toBe(false);
  },
);

/** Permissions in all the ways that chmod takes them. */
const MODES = ["u", "g", "o", "a", "ug", ""].flatMap((who) =>
  ["+", "-", "="].flatMap((sign) =>
    ["r", "x", "s", "rx", "xs", "st", "rws", "X", "t", "u"].map((rights) => who + sign + rights),
  ),
);
const NUMBERS = [
  "644",
  "755",
  "0755",
  "00755",
  "1755",
  "2755",
  "4755",
  "04755",
  "6755",
  "7000",
  "3644",
  "+4000",
];
const MORE = ["+2000", "=4755", "=755", "+0111", "u+x,g+s", "a+r,u=rws", "u=rwx,go=rx", "+s", "ug+s,o-r"];

describe("permissions that let others run a program as its owner", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "reins-modes-")));
  const file = join(folder, "file");
  writeFileSync(file, "");
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Whether chmod of this machine sets one of the bits. */
  function setsId(mode: string): boolean | undefined {
    chmodSync(file, 0o755);
    const { status } = spawnSync("chmod", ["--", mode, file], { stdio: "ignore" });
    return status === 0 ? (statSync(file).mode & 0o6000) !== 0 : undefined;
  }

  it("are seen wherever chmod sets them", async () => {
    const missed: string[] = [];
    const asked: string[] = [];
    for (const mode of [...MODES, ...NUMBERS, ...MORE]) {
      const sets = setsId(mode);
      const { opaque } = await machine.facts(`chmod -- '${mode}' notes.txt`);
      if (sets && !opaque) missed.push(mode);
      if (sets === false && opaque && !/[+=]\w*s/.test(mode)) asked.push(mode);
    }
    expect(missed).toEqual([]);
    expect(asked).toEqual([]);
  });
});
