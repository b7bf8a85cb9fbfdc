import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { homeWith, stub, toy } from "./support/added-agents.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { packaged, packageRegistry } from "./support/package-registry.ts";
import { type Reins, runReins } from "./support/reins.ts";

/** Starts `reins run` with steps for the stub. */
function start(home: OperatedHome, steps: readonly string[], ...flags: string[]): Reins {
  const reins = home.start("run", steps.join("\n"), "--agent", "stub", "--cwd", home.workspace, ...flags);
  reins.stdin.end();
  return reins;
}

const STEPS = ["say Good morning.", "run ls", "run cat ~/.ssh/id_rsa", "say Goodbye."];

describe("reins run", () => {
  it("shows what an agent says, and what it was not let do with the reason", async () => {
    const home = homeWith([stub]);
    const { code, stdout, stderr } = await start(home, STEPS).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("Good morning.\n• ls\nyes\n• cat ~/.ssh/id_rsa\n");
    expect(stdout).not.toContain("failed");
    expect(stdout).toContain(
      "  not allowed: keys, tokens and passwords are not for agents [credentials_are_out_of_reach]\n",
    );
    expect(stdout).toMatch(/Goodbye\.\n$/);
    const log = await home.done("ledger", "log", "--quality", "policy_verdict", "--json");
    expect(log).toContain("credentials_are_out_of_reach");
  });

  it("takes what is piped in after the prompt", async () => {
    const home = homeWith([stub]);
    const args = ["run", "say one", "--agent", "stub", "--cwd", home.workspace];
    const { stdout } = await runReins(args, home.environment, "say two");
    expect(stdout).toBe("onetwo\n");
  });

  it("continues the last session of the folder and agent, or the one that is named", async () => {
    const home = homeWith([stub]);
    const sessionOf = async (...flags: string[]) => {
      const reins = start(home, ["say one"], "--json", ...flags);
      expect((await reins.ended).code).toBe(0);
      const [first] = reins.log.flatMap(({ params }) => (params === undefined ? [] : [params]));
      return String((first as { sessionId?: unknown }).sessionId);
    };
    const [first, other] = [await sessionOf(), await sessionOf()];
    expect(other).not.toBe(first);
    expect(await sessionOf("--continue")).toBe(other);
    expect(await sessionOf("--resume", first.slice(0, 12))).toBe(first);
    expect(await sessionOf("--continue")).toBe(first);
    const none = await start(home, ["say one"], "--resume", "ffffffffffff").ended;
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("No session's id begins with") });
  });

  it("sets the model, or says that there is none of that name", async () => {
    const home = new OperatedHome();
    const run = (model: string) => home.run("run", "hello", "--cwd", home.workspace, "--model", model);
    expect(await run("demo")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("I am the demo model"),
    });
    const { code, stderr } = await run("nonesuch");
    expect(code).toBe(1);
    expect(stderr).toContain("nonesuch");
  });

  it("prints each message as a document, and the end", async () => {
    const home = homeWith([stub]);
    const reins = start(home, STEPS, "--json");
    expect((await reins.ended).code).toBe(0);
    const documents = reins.log;
    expect(documents.at(-1)).toEqual({ result: { stopReason: "end_turn" } });
    const blocked = documents.filter((one) => JSON.stringify(one).includes('"verdict":"blocked"'));
    expect(blocked).toMatchObject([{ method: "session/update" }]);
  });

  it("goes through the Reins that runs, if one does", async () => {
    const home = homeWith([stub]);
    const up = await home.up();
    const { code, stdout } = await start(home, ["say from there"]).ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "from there\n" });
    expect(await home.done("roster", "list")).toContain("stub");
    await home.stop(up);
  });

  it("waits for an answer from elsewhere where there is no terminal", async () => {
    const home = homeWith([stub]);
    const reins = start(home, ["run make all", "say after"]);
    await reins.printed("from elsewhere: reins approvals approve");
    expect(reins.stdout).toContain("? Bash: make all\n");
    const [, id = ""] = /reins approvals approve (\S+)/.exec(reins.stdout) ?? [];
    await home.done("approvals", "approve", id);
    const { code, stdout } = await reins.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/yesafter\n$/);
  });

  it("shares a home with another that runs there, where no Reins serves it", async () => {
    const home = homeWith([stub]);
    const first = start(home, ["say I am here", "wait"]);
    await first.until(() => first.stdout.includes("I am here"));
    const { code, stdout } = await start(home, ["say me too"]).ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "me too\n" });
    first.signal("SIGINT");
    await first.ended;
  });

  it("fails when the prompt was refused, and says why", async () => {
    const home = homeWith([stub]);
    const rules = `tool_rules:
  - { name: quiet, condition: { event: pre_prompt }, verdict: blocked, reason: no work today }
  - { name: rest, condition: {}, verdict: allowed }
`;
    writeFileSync(join(home.path, "constitution.yaml"), rules);
    const { code, stdout, stderr } = await start(home, ["say hello"]).ended;
    expect(code).toBe(1);
    expect(stdout).toBe("The prompt was not passed on: no work today\n");
    expect(stderr).toContain("The turn ended with: refusal");
  });

  it("shows and keeps no secret that reins.yaml names", async () => {
    const home = homeWith([stub]);
    const secret = "wisteria lantern 4417";
    writeFileSync(join(home.path, "secrets.txt"), `${secret}\n`);
    writeFileSync(join(home.path, "reins.yaml"), "redact: { files: [secrets.txt] }\n");
    const steps = [`say it is ${secret}.`, `run cat '${secret}'`, `complain ${secret}`, "crash"];
    const { code, stdout, stderr } = await start(home, steps, "--verbose").ended;
    expect(code).toBe(1);
    expect(stdout).toContain("it is [redacted].");
    expect(stderr).toContain("The stub ended with code 3: [redacted]");
    const exported = await home.done("ledger", "export");
    expect(exported).toContain("[redacted]");
    for (const text of [stdout, stderr, exported]) expect(text).not.toContain(secret);
  });

  it("ends the turn on Ctrl-C, and the agent with it", async () => {
    const home = homeWith([stub]);
    const reins = start(home, ["say waiting", "wait", "say never"]);
    await reins.until(() => reins.stdout.includes("waiting"));
    reins.signal("SIGINT");
    const { code, stdout, stderr } = await reins.ended;
    expect(code).toBe(1);
    expect(stderr).toContain("The turn ended with: cancelled");
    const log = await home.done("ledger", "log", "--quality", "turn", "--json");
    expect(log).toContain("cancelled");
    expect(stdout).not.toContain("always");
  });
});

describe("an agent that cannot run", () => {
  const failing = async (home: OperatedHome, agent: string, environment: NodeJS.ProcessEnv = {}) => {
    const args = ["run", "hello", "--agent", agent, "--cwd", home.workspace];
    const { code, stderr } = await runReins(args, { ...home.environment, ...environment });
    return { code, stderr };
  };

  it("distinguishes unknown, without a login, gone and unsupported", async () => {
    const variables = ["TOY_KEY", "TOY_TOKEN"];
    const files = [{ from: ".toy/auth.json", to: ".toy/auth.json" }];
    const crashing = { ...stub, id: "crashing", start: { with: "file", file: "/bin/false" } };
    const home = homeWith([toy("stranger", { credentials: { variables, files } }), crashing]);
    expect(await home.run("run", "hello", "--cwd", "/nowhere")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--cwd cannot be used"),
    });
    const long = join(home.path, "h".repeat(100));
    expect(await home.run("run", "hello", "--home", long)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("too long for a socket"),
    });
    const unknown = await failing(home, "missing");
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('There is no agent "missing".');
    const stranger = await failing(home, "stranger", { OPENAI_API_KEY: "x" });
    expect(stranger).toEqual({
      code: 1,
      stderr: `reins: The toy needs a login: Authentication required
  Set TOY_KEY or TOY_TOKEN.
  Or: Log in with The toy itself, which writes ~/.toy/auth.json; Reins reads it from there.
`,
    });
    const gone = await failing(home, "crashing");
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain("The stub ended with code 1");
    const amp = await failing(home, "amp");
    expect(amp.code).toBe(1);
    expect(amp.stderr).toMatch(/^reins: .* cannot be installed\. /);
  });

  it("is installed on first use, with a notice", async () => {
    const registry = await packageRegistry("1.0.0");
    const home = homeWith([toy("stranger", packaged)]);
    const { stderr } = await failing(home, "packaged", registry.environment);
    expect(stderr).toContain("reins: The toy is not installed yet; installing it once (about 1 MB)\n");
    expect(stderr).toContain("The toy 1.0.0 is installed\n");
    expect(stderr).toContain("needs a login");
    expect((await failing(home, "packaged")).stderr).not.toContain("installing");
  });

  it("does not keep others from running when its entry is bad, but says where", async () => {
    const home = homeWith([stub]);
    writeFileSync(join(home.path, "agents.yaml"), "agents: {}\n");
    const { code, stderr } = await failing(home, "stub");
    expect(code).toBe(2);
    expect(stderr).toContain("agents.yaml cannot be used");
  });
});
