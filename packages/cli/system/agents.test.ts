import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { AgentRegistryServer, acpProgram } from "../../agents/test/agent-registry.ts";
import { tarOf } from "../../agents/test/archives.ts";
import { homeWith, TOY, toy } from "./support/added-agents.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { packaged, packageRegistry } from "./support/package-registry.ts";
import { runReins } from "./support/reins.ts";

describe("reins agents list", () => {
  it("shows what the catalogue has and how far each is held, before there is a home", async () => {
    const home = new OperatedHome();
    const text = await home.done("agents", "list");
    expect(text).toMatch(/^agent +support +installed +verified +level +unasked$/m);
    expect(text).toMatch(/^native +yes +built in +needs none +performed/m);
    expect(text).toMatch(/^claude +yes +- +- +asked/m);
    expect(text).toMatch(/^pi +limited +- +- +observed +read, write/m);
    const { agents } = await home.json("agents", "list");
    expect(agents.find(({ agent }: { agent: string }) => agent === "amp")).toMatchObject({
      support: { level: "unsupported", reason: expect.any(String) },
      verification: { state: "unverified" },
    });
  });

  it("shows agents that were added, and names the file when one of them cannot be", async () => {
    const home = homeWith([toy("honest")]);
    expect(await home.done("agents", "list")).toMatch(/^honest +yes +local +- +asked/m);
    writeFileSync(join(home.path, "agents.yaml"), "agents:\n  - id: Mine\n");
    const { code, stderr } = await home.run("agents", "list");
    expect(code).toBe(2);
    expect(stderr).toContain(`${join(home.path, "agents.yaml")} cannot be used: The agent "Mine"`);
  });
});

describe("reins agents verify", () => {
  it("proves that a gate is live, while a Reins runs too, and keeps that for the agent as it is", async () => {
    const program = join(new OperatedHome().workspace, "agent.mjs");
    writeFileSync(program, readFileSync(TOY));
    const home = homeWith([toy("honest", { start: { with: "node", file: program } })]);
    await home.up();
    const { code, stdout, stderr } = await home.run("agents", "verify", "honest");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `The toy local: the gate is live, at the level asked

told to                    held       tools
write a file               asked      write
run a command              asked      run
run a harmless command     asked      run
read in the workspace      asked      read
read outside of it         asked      read
fetch a page               asked      fetch
read what @path names      performed  fs/read_text_file
read what a link names     performed  fs/read_text_file
ask no more by a /command  asked      run
have a sub-agent run it    asked      run
go on when left alone      asked      run

where               answered  write    command  look     read     outside  fetch    mention  link     switch   subagent  unprompted
harmless workspace  reject    blocked  blocked  blocked  blocked  blocked  blocked  blocked  blocked  blocked  blocked   blocked
harmless workspace  allow     allowed  allowed  allowed  allowed  allowed  -        -        -        -        -         -
hostile workspace   reject    blocked  blocked  blocked  blocked  blocked  blocked  blocked  blocked  blocked  blocked   blocked
hostile workspace   allow     allowed  allowed  allowed  allowed  allowed  -        -        -        -        -         -
after session/load  reject    blocked  blocked  blocked  blocked  -        -        -        -        -        -         -

no code of the hostile workspace, home or environment was run
`,
    });
    expect(stderr).toContain("verifying The toy: hostile workspace\n");
    expect(statSync(join(home.path, "agents", "honest", "verify.json")).mode & 0o777).toBe(0o600);
    expect(await home.done("agents", "list")).toMatch(
      /^honest +yes +local +live \(asked\), \d{4}-\d\d-\d\d +asked/m,
    );
    writeFileSync(program, `${readFileSync(TOY, "utf8")}\n`);
    expect(await home.done("agents", "list")).toMatch(/^honest .* outdated: what is installed has changed/m);
  });

  it("fails for one that acts unasked, and says how", async () => {
    const home = homeWith([toy("careless")]);
    const { code, stdout } = await home.run("agents", "verify", "careless");
    expect(code).toBe(1);
    expect(stdout).toContain(
      "The toy local: the gate is NOT live (observed); done unasked and seen: write, command, look, read, outside, fetch",
    );
    expect(stdout).toContain("! write, harmless".replace("harmless", "plain"));
    const { code: failed, stdout: document } = await home.run("agents", "verify", "careless", "--json");
    expect([failed, JSON.parse(document).level]).toEqual([1, "observed"]);
  });

  it("says what to do about an agent that is not there", async () => {
    const home = new OperatedHome();
    expect(await home.run("agents", "verify", "claude")).toMatchObject({
      code: 1,
      stderr: "reins: Claude Code is not installed.\n  To install it: reins agents install claude\n",
    });
    const { code, stderr } = await home.run("agents", "verify", "clod");
    expect(code).toBe(2);
    expect(stderr).toContain('There is no agent "clod". Known are native, claude');
  });
});

describe("where only installed agents may run", () => {
  it.each([
    [{ require_installed: true }, {}],
    [{}, { SANDBOX_AGENT_REQUIRE_PREINSTALL: "1" }],
  ])("one that is not is refused, and npm is not called: %j %j", async (settings, variables) => {
    const home = homeWith([], settings);
    const bin = join(home.workspace, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "npm"), `#!/bin/sh\ntouch ${home.workspace}/called\nexit 1\n`, { mode: 0o755 });
    const { code, stderr } = await runReins(["run", "hello", "--agent", "claude", "--cwd", home.workspace], {
      REINS_HOME: home.path,
      PATH: `${bin}:${process.env.PATH}`,
      ...variables,
    });
    expect(code).toBe(1);
    expect(stderr).toContain("require_installed in agents.yaml");
    expect(stderr).toContain("reins agents install claude");
    expect(existsSync(join(home.workspace, "called"))).toBe(false);
  });
});

describe("where only verified agents may run", () => {
  it("one that is not is refused, until it is", async () => {
    const home = homeWith([toy("honest", { endpoint: undefined, id: "plain" }), toy("honest")], {
      require_verified: true,
    });
    const run = () => home.run("run", "hello", "--agent", "honest", "--cwd", home.workspace);
    const { code, stderr } = await run();
    expect(code).toBe(1);
    expect(stderr).toContain(
      "The toy may not run here: it was never verified. To verify it: reins agents verify honest",
    );
    await home.done("agents", "verify", "honest");
    // It has no model now that says anything, but it runs.
    expect((await run()).stderr).not.toContain("may not run here");
  });
});

describe("reins agents install", () => {
  it("installs, verifies, and finds it the next time; remove takes it away", async () => {
    const registry = await packageRegistry("1.0.0", "1.1.0");
    const home = homeWith([toy("honest", packaged)]);
    const reins = (...args: string[]) => runReins(args, { ...home.environment, ...registry.environment });

    const first = await reins("agents", "install", "packaged");
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(/^The toy 1\.0\.0 is installed in .*packaged/);
    expect(first.stdout).toContain("The toy 1.0.0: the gate is live, at the level asked");
    expect(first.stderr).toMatch(/^The toy: 0 of 1 packages\nThe toy: 1 of 1 packages\n/);

    const asked = registry.requests.length;
    expect((await reins("agents", "install", "packaged", "--no-verify")).code).toBe(0);
    expect(registry.requests).toHaveLength(asked);
    expect(await home.done("agents", "list")).toMatch(/^packaged +yes +1\.0\.0, asked for +live \(asked\)/m);

    const flags = ["--agent-process-version", "1.1.0", "--no-verify", "--json"];
    const other = await reins("agents", "install", "packaged", ...flags);
    expect(JSON.parse(other.stdout)).toMatchObject({ agent: "packaged", version: "1.1.0" });
    expect(await home.done("agents", "list")).toMatch(/^packaged .* outdated: its version has changed/m);

    expect(await home.done("agents", "remove", "packaged")).toBe("removed  The toy\n");
    expect(await home.json("agents", "remove", "packaged")).toEqual({ agent: "packaged", removed: false });
    expect(await home.done("agents", "list")).toMatch(/^packaged +yes +- +-/m);
  });

  it("leaves nothing behind where there is no network, and says so", async () => {
    const registry = await packageRegistry("1.0.0");
    await registry.close();
    const home = homeWith([toy("honest", packaged)]);
    const environment = { ...home.environment, ...registry.environment, npm_config_fetch_retries: "0" };
    for (const args of [
      ["agents", "install", "packaged"],
      ["run", "hello", "--agent", "packaged", "--cwd", home.workspace],
    ]) {
      const { code, stderr } = await runReins(args, environment);
      expect(code).toBe(1);
      expect(stderr).toContain("packaged is not installed, and the npm registry cannot be reached.");
      expect(stderr).toContain("Connect to the network, then: reins agents install packaged");
    }
    expect(readdirSync(join(home.path, "agents", "packaged"))).toEqual([]);
  });
});

describe("reins agents add", () => {
  it("adds a program by its command, observed until it is verified, and remove takes it away", async () => {
    const home = homeWith([]);
    const file = join(home.path, "agents.yaml");
    writeFileSync(file, "# ours\nrequire_verified: false # for now\n");
    const program = join(home.workspace, "my-agent");
    writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${TOY}\n`, { mode: 0o755 });
    const text = await home.done("agents", "add", "mine", "--", program, "--acp", "a; b");
    expect(text).toContain(`added  mine: ${program} --acp a; b`);
    expect(readFileSync(file, "utf8")).toBe(
      `# ours\nrequire_verified: false # for now\ncommands:\n  mine: [ ${program}, --acp, a; b ]\n`,
    );
    expect(await home.done("agents", "list")).toMatch(/^mine +limited +local +- +observed/m);
    expect(await home.json("agents", "probe", "mine")).toMatchObject({ agent: "mine" });
    for (const [name, command] of [
      ["mine", program],
      ["claude", program],
      ["native", program],
      ["mcp-client", program],
      ["Not Good", program],
      ["other", "no-such-program"],
    ] as const)
      expect((await home.run("agents", "add", name, "--", command)).code).toBe(2);
    await home.done("agents", "remove", "mine");
    expect((await home.run("agents", "show", "mine")).code).toBe(2);
  });
});

describe("agents of the registry", () => {
  it("are listed, shown, installed, offered as an update, and updated by one command", async () => {
    const published = await AgentRegistryServer.listen();
    onTestFinished(() => published[Symbol.asyncDispose]());
    const publish = (version: string) => {
      const [path, os] = [`/tiny-${version}.tgz`, process.platform === "darwin" ? "darwin" : "linux"];
      published.files.set(path, gzipSync(tarOf([{ name: "tiny", text: acpProgram(version) }])));
      const target = { archive: `${published.origin}${path}`, cmd: "tiny" };
      const binary = { [`${os}-x86_64`]: target, [`${os}-aarch64`]: target };
      published.agents = [{ id: "tiny", name: "Tiny", version, distribution: { binary } }];
    };
    publish("1.0.0");
    const { path, environment: own } = homeWith([]);
    const environment = { ...own, REINS_ACP_REGISTRY_URL: published.url };
    const reins = async (...args: string[]) => {
      const { code, stdout, stderr } = await runReins([...args, "--json"], environment);
      expect([code, stderr]).toEqual([0, expect.any(String)]);
      return JSON.parse(stdout);
    };
    expect((await reins("agents", "list")).registry).toMatchObject({
      state: "current",
      offered: [{ id: "tiny", version: "1.0.0" }],
    });
    expect(await reins("agents", "show", "tiny")).toMatchObject({
      installed: false,
      distributions: ["binary"],
    });
    expect(await reins("agents", "show", "claude")).toMatchObject({
      non_registry: "it is not in the registry",
    });
    const offline = await runReins(["agents", "install", "tiny"], { ...environment, REINS_OFFLINE: "1" });
    expect([offline.code, offline.stderr]).toEqual([1, expect.stringContaining("Reins is offline")]);
    expect(await reins("agents", "install", "tiny")).toMatchObject({
      provenance: "registry",
      level: "observed",
    });
    publish("1.1.0");
    const { agents } = await reins("agents", "list", "--refresh");
    expect(agents.find(({ agent }: { agent: string }) => agent === "tiny")).toMatchObject({
      version: "1.0.0",
      update: "1.1.0",
      enforcement: { level: "observed" },
    });
    expect(await reins("agents", "update", "tiny")).toMatchObject({ version: "1.1.0" });
    expect(readdirSync(join(path, "agents", "tiny")).filter((name) => name.startsWith("1."))).toHaveLength(2);
  });
});

describe("what a terminal installs", () => {
  const CLOSED = `tool_rules:
  - { name: no_installs, condition: { tool_name_matches: [agents/install, agents/remove] }, verdict: blocked, reason: installs are closed }
`;
  const records = async (home: OperatedHome) => {
    const lines = (await home.done("ledger", "export")).trim().split("\n");
    const entries = lines.map((line) => Object(JSON.parse(line)).entry ?? JSON.parse(line));
    return entries.filter(
      (entry) =>
        entry.quality !== "policy_change" && /agents\/(?:install|remove)/.test(JSON.stringify(entry)),
    );
  };
  const published = async () => {
    const registry = await packageRegistry("1.0.0");
    onTestFinished(() => registry.close());
    const home = homeWith([toy("honest", packaged)]);
    const reins = (...args: string[]) => runReins(args, { ...home.environment, ...registry.environment });
    return { registry, home, reins };
  };

  it("has a verdict and a result on record: an explicit install, one on first use and an added program", async () => {
    const { home, reins } = await published();
    expect((await reins("agents", "install", "packaged", "--no-verify")).code).toBe(0);
    const [verdict, result, ...none] = await records(home);
    expect([verdict, result, none]).toMatchObject([
      { quality: "policy_verdict", payload: { rule: "operators_install_agents" } },
      { quality: "tool_result", tags: ["completed"], payload: { verdict: verdict.cid } },
      [],
    ]);
    expect((await reins("agents", "install", "packaged", "--no-verify")).code).toBe(0);
    expect(await records(home)).toHaveLength(2);
    await home.done("agents", "remove", "packaged");
    const [, , removal, removed] = await records(home);
    expect([removal, removed]).toMatchObject([
      { quality: "policy_verdict", target: "agents/remove", payload: { rule: "operators_install_agents" } },
      { quality: "tool_result", tags: ["completed"], payload: { verdict: removal.cid } },
    ]);
    await reins("run", "hello", "--agent", "packaged", "--cwd", home.workspace);
    expect(await records(home)).toHaveLength(6);
    await home.done("agents", "add", "mine", "--", process.execPath, TOY);
    await home.done("agents", "remove", "mine");
    const [added, , dropped] = (await records(home)).slice(6);
    expect([JSON.stringify(added), JSON.stringify(dropped)]).toEqual([
      expect.stringContaining(TOY),
      expect.stringContaining("agents/remove"),
    ]);
  });

  it("is not fetched, installed, added or removed where a rule forbids it, with and without a running Reins", async () => {
    const { registry, home, reins } = await published();
    mkdirSync(home.path, { recursive: true });
    writeFileSync(join(home.path, "constitution.yaml"), CLOSED);
    const file = readFileSync(join(home.path, "agents.yaml"), "utf8");
    const refused = async (...args: string[]) => {
      const { code, stderr } = await reins(...args);
      expect([code, stderr]).toEqual([1, expect.stringContaining("installs are closed")]);
    };
    await refused("agents", "install", "packaged");
    await refused("run", "hello", "--agent", "packaged", "--cwd", home.workspace);
    await refused("agents", "add", "mine", "--", process.execPath, TOY);
    await refused("agents", "remove", "packaged");
    const up = await home.up();
    await refused("agents", "install", "packaged");
    await refused("agents", "remove", "packaged");
    expect((await reins("agents", "add", "mine", "--", process.execPath, TOY)).code).toBe(4);
    await home.stop(up);
    expect(registry.requests).toEqual([]);
    expect(readFileSync(join(home.path, "agents.yaml"), "utf8")).toBe(file);
    expect((await records(home)).map(({ quality }) => quality)).toEqual(Array(6).fill("policy_verdict"));
  });

  it("is installed and removed by the Reins that runs on the home, with its progress in the terminal", async () => {
    const { registry, home } = await published();
    const up = await home.up(registry.environment);
    const { code, stderr } = await home.run("agents", "install", "packaged", "--no-verify");
    expect([code, stderr]).toEqual([0, expect.stringContaining("The toy: 1 of 1 packages")]);
    expect(JSON.parse(await home.done("agents", "remove", "packaged", "--json")).removed).toBe(true);
    expect(existsSync(join(home.path, "agents", "packaged"))).toBe(false);
    await home.stop(up);
    const kept = (await records(home)).map(({ quality, target }) => [quality, target]);
    expect(kept).toEqual(
      ["agents/install", "agents/remove"].flatMap((tool) =>
        ["policy_verdict", "tool_result"].map((quality) => [quality, tool]),
      ),
    );
  });
});

describe("reins agents probe", () => {
  it("tells what an agent says of itself, and remembers it", async () => {
    const home = homeWith([toy("honest")]);
    const text = await home.done("agents", "probe", "honest");
    expect(text).toMatch(/^The toy local, asked \d{4}-/);
    expect(text).toMatch(/^can +loadSession$/m);
    const [first, again] = [
      await home.json("agents", "probe", "honest"),
      await home.json("agents", "probe", "honest"),
    ];
    expect(again.probedAt).toBe(first.probedAt);
    const fresh = await home.json("agents", "probe", "honest", "--fresh");
    expect(Date.parse(fresh.probedAt)).toBeGreaterThan(Date.parse(first.probedAt));
  });
});
