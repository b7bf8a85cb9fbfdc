import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { launchdPlist } from "../src/commands/service/launchd.ts";
import { folder, runReins } from "./support/reins.ts";

const execute = promisify(execFile);

/** A machine with a `systemctl` of the test's own, which writes down what it is asked. */
async function machine(name: string, script: string) {
  const place = join(folder, name);
  const [programs, calls, home] = [join(place, "bin"), join(place, "calls"), join(place, "home")];
  await mkdir(programs, { recursive: true });
  await writeFile(join(programs, "systemctl"), `#!/bin/sh\necho "$*" >> ${calls}\n${script}\n`);
  await chmod(join(programs, "systemctl"), 0o755);
  const environment = { HOME: place, REINS_HOME: home, PATH: `${programs}:${process.env.PATH}` };
  return {
    home,
    unit: join(place, ".config", "systemd", "user", "reins.service"),
    calls: async () => (await readFile(calls, "utf8")).trim().split("\n"),
    run: (...args: string[]) => runReins(["service", ...args], environment),
  };
}

const ACTIVE = `case "$2" in show) printf 'UnitFileState=enabled\\nActiveState=active\\nMainPID=42\\n';; esac`;

describe.runIf(process.platform === "linux")("reins service", () => {
  it("has systemd start Reins at login and keep it running, and undoes that", async () => {
    const { home, unit, calls, run } = await machine("kept", ACTIVE);
    expect(await run("status")).toMatchObject({ code: 1, stdout: expect.stringContaining("not installed") });
    const installed = await run("install");
    expect(installed).toMatchObject({ code: 0, stderr: "" });
    expect(installed.stdout).toContain(`systemd runs Reins now, with ${unit}`);
    const text = await readFile(unit, "utf8");
    expect(text).toContain(`"up" "--home" "${home}"`);
    expect(text).toContain(`EnvironmentFile=-${join(home, "environment")}`);
    expect((await stat(join(home, "environment"))).mode & 0o777).toBe(0o600);
    expect(await calls()).toEqual([
      "--user show-environment",
      "--user daemon-reload",
      "--user enable reins.service",
      "--user restart reins.service",
    ]);
    const status = await run("status", "--json");
    expect(JSON.parse(status.stdout)).toMatchObject({
      ...{ keeper: "systemd", installed: true, enabled: true, running: true, pid: 42, answers: false },
    });
    expect(status.code).toBe(1);
    expect((await run("uninstall")).code).toBe(0);
    expect((await calls()).slice(-3)).toEqual([
      "--user show-environment",
      "--user disable --now reins.service",
      "--user daemon-reload",
    ]);
    expect([existsSync(unit), existsSync(join(home, "environment"))]).toEqual([false, true]);
    expect(await run("uninstall")).toMatchObject({ code: 1, stderr: expect.stringContaining("--name") });
  });

  it("says what to do where no systemd answers, changes nothing, and prints the unit all the same", async () => {
    const { unit, home, run } = await machine("container", 'echo "Failed to connect to bus" >&2; exit 1');
    expect(await run("install")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /No systemd answers for this user here: Failed to connect to bus.*--print/s,
      ),
    });
    expect([existsSync(unit), existsSync(home)]).toEqual([false, false]);
    const { code, stdout } = await run("install", "--print");
    expect([code, stdout.startsWith("[Unit]\n")]).toEqual([0, true]);
    expect((await run("install", "--name", "Two Words")).code).toBe(2);
  });

  it("tells what systemd says when it refuses", async () => {
    const { run } = await machine("refusing", 'case "$2" in enable) echo "Access denied" >&2; exit 1;; esac');
    expect(await run("install")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("systemctl --user enable reins.service failed: Access denied"),
    });
  });
});

it("launchd's shell gives the service the variables of its file, and nothing else of it", async () => {
  const place = join(folder, "launchd it's");
  await mkdir(place);
  const environmentFile = join(place, "environment");
  await writeFile(environmentFile, "# a key\nANTHROPIC_API_KEY=secret\n");
  const command = [process.execPath, "-p", "process.env.ANTHROPIC_API_KEY + process.argv[1]", "$HOME & <co>"];
  const plan = { name: "reins", command, home: place, folder: place, environmentFile, path: "/bin" };
  const script = launchdPlist(plan).match(/<string>(set -a.*)<\/string>/)?.[1] ?? "";
  const plain = script.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
  const { stdout } = await execute("/bin/sh", ["-c", plain], { env: {} });
  expect(stdout).toBe("secret$HOME & <co>\n");
});
