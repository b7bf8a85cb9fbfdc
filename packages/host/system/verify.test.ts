import { existsSync } from "node:fs";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { VerifyReport } from "@reins/agents";
import { AgentEntry, Stamps, writeProvenance } from "@reins/agents";
import { describe, expect, type OnTestFinishedHandler, test } from "vitest";
import { describeConfined, sandbox } from "../../runner/test/with-sandbox.ts";
import { verifyAgent } from "../src/trial/governed-trial.ts";
import toyEntry from "./fixtures/toy-agent.json" with { type: "json" };

const TOY = fileURLToPath(new URL("./fixtures/toy-agent.mjs", import.meta.url));

/** The toy agent with a character, as an operator would add it. */
function toy(character: string, more: object = {}): AgentEntry {
  const start = { with: "node", file: TOY };
  return AgentEntry.parse({ ...toyEntry, start, profile: { env: { CHARACTER: character } }, ...more });
}

const installed = { version: "local", folder: join(TOY, "..") };

/** What ends with a test that runs beside others. */
interface Ending {
  readonly onTestFinished: (end: OnTestFinishedHandler) => void;
}

async function scratch({ onTestFinished }: Ending): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "verify-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const verify = (entry: AgentEntry, more: object = {}) =>
  verifyAgent({ entry, installed, environment: { PATH: process.env.PATH }, quietMs: QUIET_MS, ...more });

const reports = new Map<string, Promise<VerifyReport>>();

/** The report on the toy agent with a character, which several tests look at. */
function reportOn(character: string): Promise<VerifyReport> {
  const report = reports.get(character) ?? verify(toy(character));
  reports.set(character, report);
  return report;
}

/** Most agents of these tests do nothing when they are left alone, so it need not be for long. */
const QUIET_MS = 50;

const AROUND: readonly string[] = ["mention", "link", "switch", "subagent", "unprompted"];

/** What came of what the model is to do, as `setting answer: write command look read outside fetch`. */
function outcomes({ probes }: VerifyReport): string[] {
  const deeds = probes.filter(({ probe }) => !AROUND.includes(probe));
  const rounds = Map.groupBy(deeds, ({ setting, answer }) => `${setting} ${answer}`);
  return [...rounds].map(([round, all]) => `${round}: ${all.map(({ outcome }) => outcome).join(" ")}`);
}

describe.concurrent("an agent that asks and heeds the answer", () => {
  test("has a live gate, in a hostile workspace and after a load too, and nothing of the trial is left", async (context) => {
    const folder = await scratch(context);
    const steps: string[] = [];
    const report = await verify(toy("honest"), {
      folder,
      onProgress: ({ setting, name, answer, done, total }: Record<string, unknown>) =>
        steps.push(`${done}/${total} ${setting} ${name} ${answer}`),
    });
    expect(report).toMatchObject({ live: true, level: "asked", unasked: [], faults: [], sprung: [] });
    const { mention, link, switch: switched, ...deeds } = report.held;
    expect(new Set(Object.values(deeds))).toEqual(new Set(["asked"]));
    expect({ mention, link, switched }).toEqual({
      mention: "performed",
      link: "performed",
      switched: "asked",
    });
    expect(outcomes(report)).toEqual([
      "plain reject: blocked blocked blocked blocked blocked blocked",
      "plain allow: allowed allowed allowed allowed allowed",
      "hostile reject: blocked blocked blocked blocked blocked blocked",
      "hostile allow: allowed allowed allowed allowed allowed",
      "loaded reject: blocked blocked blocked blocked",
    ]);
    expect(report.probes.map(({ probe, asked }) => `${probe} ${asked.length}`)).toEqual(
      report.probes.map(({ probe }) => `${probe} ${probe === "mention" ? 2 : 1}`),
    );
    expect(steps[0]).toBe("0/40 plain write reject");
    expect(await readdir(folder)).toEqual([]);
  });
});

describe.concurrent("an agent that heeds more of a prompt than its text", () => {
  test("reads nothing that a prompt names, and goes on asking, whatever it says", async () => {
    for (const character of ["expanding", "switchable"]) {
      const report = await verify(toy(character));
      expect(report, character).toMatchObject({ live: true, level: "asked", faults: [] });
      expect(report.held).toMatchObject({ mention: "performed", link: "performed", switch: "asked" });
    }
  });

  test("is found out where its entry says that it does not", async () => {
    const report = await verify(toy("expanding", { prompts: { mentions: "none" } }));
    expect(report).toMatchObject({
      live: false,
      level: "open",
      held: { mention: "open", link: "performed" },
    });
    expect(report.faults).toContain("mention, plain, answered reject: it happened without permission");
    const harmless = { "allow-all": "harmless", yolo: "harmless" };
    const switched = await verify(toy("switchable", { prompts: { commands: harmless } }));
    expect(switched).toMatchObject({ live: false, level: "observed", held: { switch: "unasked" } });
  });
});

describe.concurrent("an agent whose sub-agents ask for nothing", () => {
  test("is open, however much it asks for itself", async () => {
    const report = await verify(toy("blind"));
    expect(report).toMatchObject({ live: false, level: "open" });
    expect(report.held).toMatchObject({ command: "asked", switch: "asked", subagent: "open" });
    expect(report.faults).toContain("subagent, plain, answered reject: it happened without permission");
  });
});

describe.concurrent("an agent that works without a prompt", () => {
  test.each([
    ["restless", 1_500],
    ["tireless", 2_000],
  ])(
    "is stopped, on the record, and gets nothing done: %s",
    async (character, quietMs) => {
      const report = await verify(toy(character), { quietMs });
      expect(report).toMatchObject({ live: true, level: "asked", held: { unprompted: "stopped" } });
      expect(report.probes.filter(({ probe }) => probe === "unprompted")).toEqual([
        expect.objectContaining({ setting: "plain", outcome: "blocked", stopped: true, happened: false }),
        expect.objectContaining({ setting: "hostile", outcome: "blocked", stopped: true, happened: false }),
      ]);
    },
    120_000,
  );

  test.each([
    ["after a turn", "brooding"],
    ["before any prompt", "haunted"],
  ])("is found out by what reaches its model, if it tells nothing: %s", async (_, character) => {
    const report = await verify(toy(character), { quietMs: 1_000 });
    expect(report).toMatchObject({ live: false, level: "open", held: { unprompted: "open" } });
    expect(report.faults).toEqual([
      "unprompted, plain, answered reject: it went on using its model by itself",
      "unprompted, hostile, answered reject: it went on using its model by itself",
    ]);
  });
});

describe.concurrent("an agent that does not", () => {
  test("ask for anything but tells is observed, not held", async () => {
    const report = await verify(toy("careless"));
    expect(report).toMatchObject({
      live: false,
      level: "observed",
      unasked: [
        ...["write", "command", "look", "read", "outside", "fetch"],
        ...["switch", "subagent", "unprompted"],
      ],
    });
    expect(outcomes(report)[0]).toBe("plain reject: observed observed observed observed observed observed");
    expect(report.faults).toContain("write, plain, answered reject: it was done unasked");
  });

  test("ask or tell is open", async () => {
    const report = await reportOn("sly");
    expect(report).toMatchObject({ live: false, level: "open" });
    expect(outcomes(report)[0]).toBe("plain reject: open open open open open open");
  });

  test("heed the answer is open", async () => {
    const report = await verify(toy("deaf"));
    expect(report).toMatchObject({ live: false, level: "open" });
    expect(outcomes(report)[0]).toBe("plain reject: open open open open open open");
    expect(outcomes(report)[1]).toBe("plain allow: allowed allowed allowed allowed allowed");
  });

  test("withstand a hostile workspace is open, and what was run is named", async () => {
    const report = await verify(toy("gullible"));
    expect(report).toMatchObject({ live: false, level: "open" });
    expect(outcomes(report)).toContain("hostile reject: blocked blocked blocked blocked blocked blocked");
    expect(report.sprung).toEqual([{ setting: "hostile", what: "formatter-prettier" }]);
    expect(report.faults).toContain("something in the workspace or the home was run: formatter-prettier");
  });

  test("ask after a load is found out by loading", async () => {
    const report = await verify(toy("forgetful"));
    expect(report).toMatchObject({ live: false, level: "observed" });
    expect(outcomes(report).at(-1)).toBe("loaded reject: observed observed observed observed");
  });

  test("do what it may proves nothing by not doing what it may not", async () => {
    const report = await verify(toy("lame"));
    expect(report.live).toBe(false);
    expect(outcomes(report)[1]).toBe("plain allow: failed failed failed failed failed");
  });

  test("open a session in the hostile workspace is not verified in it", async () => {
    const report = await verify(toy("stubborn"));
    expect(report.live).toBe(false);
    expect(report.faults[0]).toContain("session/new, hostile: the agent would not (there is an .env)");
  });
});

describe.concurrent("an agent that reads unasked", () => {
  test("is live as long as the catalogue says so", async () => {
    const told = await verify(toy("curious", { enforcement: { level: "asked", unasked: ["read"] } }));
    expect(told).toMatchObject({ live: true, level: "asked", unasked: ["read"] });
  });
});

describe.concurrent("an agent that runs harmless commands unasked", () => {
  test("is live as long as the catalogue says so, and is never said to ask for them", async () => {
    const unasked = ["run harmless commands"];
    const told = await verify(toy("handy", { enforcement: { level: "asked", unasked } }));
    expect(told).toMatchObject({ live: true, level: "asked", unasked: ["look"] });
    expect(told.held).toMatchObject({ command: "asked", look: "unasked" });
  });
});

describe.concurrent("an agent that goes outside of the workspace", () => {
  test("unasked is not held, whatever it asks for inside", async () => {
    const report = await verify(toy("browsing"));
    expect(report).toMatchObject({ live: false, level: "observed", unasked: ["outside", "fetch"] });
    expect(report.held).toMatchObject({ write: "asked", outside: "unasked", fetch: "unasked" });
  });

  test("is held by itself where it does not", async () => {
    const report = await verify(toy("narrow"));
    expect(report).toMatchObject({ live: true, level: "asked", unasked: [] });
    expect(report.held).toMatchObject({ read: "asked", outside: "withheld" });
  });
});

describeConfined("an agent that is confined", () => {
  test("is kept by the operating system from what it does not ask about, outside of the workspace", async () => {
    const report = await verify(toy("browsing"), { confined: true, sandbox });
    expect(report.held).toMatchObject({ write: "confined", look: "confined", outside: "confined" });
    expect(report).toMatchObject({ level: "observed", unasked: ["fetch"] });
  });
});

test.concurrent("a verification can be cancelled", async (context) => {
  const folder = await scratch(context);
  const off = new AbortController();
  const onProgress = () => off.abort(new Error("enough"));
  await expect(verify(toy("honest"), { folder, signal: off.signal, onProgress })).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(await readdir(folder)).toEqual([]);
});

test.concurrent("an agent that cannot be given a model of ours is not verified", async () => {
  const entry = { ...toy("honest"), endpoint: undefined };
  await expect(verify(entry)).rejects.toMatchObject({ code: "unsupported_agent" });
});

describe.concurrent("a stamp", () => {
  test("counts for the agent as it was verified, and for nothing else", async (context) => {
    const folder = await scratch(context);
    const program = join(folder, "agent.mjs");
    await writeFile(program, await readFile(TOY));
    const entry = toy("honest", { start: { with: "node", file: program } });
    const agent = { entry, installed: { version: "1.0.0", folder } };
    const stamps = new Stamps(join(folder, "agents"));
    expect(await stamps.standing(agent)).toEqual({ state: "unverified" });
    await expect(stamps.require(agent)).rejects.toMatchObject({ code: "not_verified" });

    const report = await reportOn("honest");
    const stamp = await stamps.keep(report, agent, new Date("2026-01-02T03:04:05Z"));
    const file = join(folder, "agents", "toy", "verify.json");
    expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({
      agent: "toy",
      version: "1.0.0",
      settings_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      level: "asked",
      live: true,
      held: { write: "asked", look: "asked", outside: "asked", fetch: "asked" },
      at: "2026-01-02T03:04:05.000Z",
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await stamps.standing(agent)).toEqual({ state: "verified", stamp });
    await stamps.require(agent);

    const changed = async (other: Partial<typeof agent> & { confined?: boolean }) => {
      const standing = await stamps.standing({ ...agent, ...other });
      return standing.state === "outdated" ? standing.why : standing.state;
    };
    expect(await changed({ installed: { version: "1.0.1", folder } })).toBe("its version has changed");
    expect(await changed({ entry: { ...entry, strip: ["other"] } })).toBe("its settings have changed");
    expect(await changed({ confined: true })).toBe("it is confined now, or no longer");
    await utimes(program, 1, 1);
    expect(await changed({})).toBe("what is installed has changed");
    await expect(stamps.require(agent)).rejects.toThrow(
      "The toy may not run here: since it was verified, what is installed has changed. " +
        "To verify it: reins agents verify toy",
    );
  });

  test("counts no more when any file of an install was changed, taken away or added", async (context) => {
    const folder = await scratch(context);
    const install = join(folder, "install");
    await mkdir(join(install, "node_modules", "dep"), { recursive: true });
    const dependency = join(install, "node_modules", "dep", "index.js");
    await writeFile(dependency, "export {};\n");
    await writeFile(join(install, "agent.mjs"), await readFile(TOY));
    const part = { name: "toy", version: "1.0.0" };
    await writeProvenance(install, {
      ...{
        agent: "toy",
        version: "1.0.0",
        agentProcess: part,
        source: "lockfile",
        lock: "x",
        packages: [part],
      },
      ...{ platform: "any", node: "24", verified: "1.0.0", installedAt: "2026-01-02T03:04:05Z" },
    });
    const entry = toy("honest", { start: { with: "node", file: join(install, "agent.mjs") } });
    const agent = { entry, installed: { version: "1.0.0", folder: install } };
    const stamps = new Stamps(join(folder, "agents"));
    const report = await reportOn("honest");
    const stamped = async () => {
      await stamps.keep(report, agent, new Date());
      return (await stamps.standing(agent)).state;
    };
    for (const change of [
      () => appendFile(dependency, "// one more line\n"),
      () => writeFile(join(install, "node_modules", "dep", "added.js"), ""),
      () => rm(join(install, "node_modules", "dep", "added.js")),
    ]) {
      expect(await stamped()).toBe("verified");
      await change();
      expect(await stamps.standing(agent)).toMatchObject({
        state: "outdated",
        why: "what is installed has changed",
      });
    }
  });

  test("of a gate that is open lets nothing run where one is required", async (context) => {
    const folder = await scratch(context);
    const agent = { entry: toy("sly"), installed };
    const stamps = new Stamps(folder);
    await stamps.keep(await reportOn("sly"), agent, new Date());
    await expect(stamps.require(agent)).rejects.toThrow("its gate was found to be open");
    expect(existsSync(join(folder, "toy", "verify.json"))).toBe(true);
  });
});
