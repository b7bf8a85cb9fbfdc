import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { Bench, BenchContext, BenchRow } from "../../../scripts/bench/bench.ts";
import { ROOT } from "./started.ts";

/** What the hook may cost beside one that only reads its input and allows. */
const WANTED_MS = 60;
const MAIN = join(ROOT, "packages/cli/src/main.ts");
const EMPTY = `for await (const _ of process.stdin); process.stdout.write('{"hookSpecificOutput":{}}');`;

const bench: Bench = {
  name: "hooks",
  title: "What a hook of an agent in a terminal costs, beside an empty hook of the same kind",
  run,
};
export default bench;

async function run({ scale }: BenchContext): Promise<BenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), "hooks-bench-"));
  const [home, user, workspace] = ["reins", "user", "work"].map((name) => join(folder, name));
  if (!home || !user || !workspace) throw new Error("there is no folder");
  for (const path of [user, workspace]) await mkdir(path);
  await writeFile(join(folder, "empty.mjs"), EMPTY);
  const reins = spawn(process.execPath, [MAIN, "up", "--home", home, "--port", "0", "--no-open"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    for await (const line of createInterface({ input: reins.stdout }))
      if (line.includes("rules are in force")) break;
    reins.stdout.resume();
    const environment = { ...process.env, HOME: user, REINS_HOME: home };
    await promisify(execFile)(process.execPath, [MAIN, "hooks", "install", "claude"], { env: environment });
    const settings = JSON.parse(await readFile(join(user, ".claude", "settings.json"), "utf8"));
    const command: string = settings.hooks.PreToolUse[0].hooks[0].command;
    const empty = command.replace(/'[^']*reins-hook\.mjs'/, `'${join(folder, "empty.mjs")}'`);
    const input = JSON.stringify({
      ...{ session_id: "bench", cwd: workspace, hook_event_name: "PreToolUse", tool_name: "Write" },
      tool_input: { file_path: join(workspace, "a.txt"), content: "x" },
    });
    const times: Record<"hook" | "empty", number[]> = { hook: [], empty: [] };
    // In turn, so that a busy moment of the machine is both's; the first of each fills caches.
    for (let round = 0; round <= (scale === "quick" ? 20 : 200); round += 1)
      for (const [name, text] of [
        ["hook", command],
        ["empty", empty],
      ] as const) {
        const taken = await timed(text, input);
        if (round > 0) times[name].push(taken);
      }
    const [hook, base] = [median(times.hook), median(times.empty)];
    return [
      { what: "a hook, p50", value: hook, unit: "ms", baseline: { what: "an empty hook, p50", value: base } },
      {
        ...{ what: "what the hook costs more than an empty one, p50", value: hook - base, unit: "ms" },
        baseline: { what: "what is wanted", value: WANTED_MS },
        bar: { ratio: 1, sense: "at most" },
      },
    ];
  } finally {
    reins.kill();
    await once(reins, "close");
    await rm(folder, { recursive: true, maxRetries: 5 });
  }
}

/** Runs a hook as an agent does, and checks that it allowed the call. */
async function timed(command: string, input: string): Promise<number> {
  const began = performance.now();
  const child = spawn("sh", ["-c", command], { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stdin.end(input);
  const [code] = await once(child, "close");
  if (code !== 0 || !output.includes("hookSpecificOutput") || output.includes("deny"))
    throw new Error(`the hook did not allow the call: ${output}`);
  return performance.now() - began;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
