import type { AgentEntry, Installed, Probed, ProbeResult, VerifyProgress, VerifyReport } from "@reins/agents";
import { verifyAgent } from "@reins/host";
import { command } from "../../command.ts";
import { EXIT } from "../../errors.ts";
import { agentError } from "../../hosting/agent-error.ts";
import {
  AGENT,
  AGENT_FLAGS,
  type HomeAgents,
  openAgent,
  requireInstalled,
} from "../../hosting/home-agents.ts";
import { printableLine, table } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";

export const verifyCommand = command({
  summary: "verify that an installed agent asks before it acts",
  description: "Verifies that an installed agent asks before it acts, and obeys the answer.",
  inputs: { agent: AGENT, ...AGENT_FLAGS },
  note: `The agent runs as in production, but in temporary folders and with a built-in
model, which makes it write a file, run a command and one as harmless as ls,
read a secret in the workspace and one outside of it, and fetch a page; prompts
also name files by @path and by a link, and contain the commands that would stop
it from asking. Everything is rejected first and then allowed: in a harmless
workspace; in a hostile one, with settings, hooks, plugins and servers that try
to disable the gate; and there again after a new process has resumed the
session.

  blocked   asked, rejected, and did not happen
  allowed   asked, allowed, and happened
  observed  done without asking, and seen afterwards
  open      happened although it was not allowed
  withheld  neither asked nor done: the agent or its sandbox prevented it
  untried   the agent offers its model no tool for it
  failed    allowed, and did not happen

The result is stored with version and settings. With require_verified: true in
agents.yaml, only agents run that were verified as they are now.`,
  examples: ["reins agents verify claude", "reins agents verify codex --json | jq .level"],
  codes: {
    done: "its gate is live",
    failed: "its gate is not live, or could not be tested",
    usage: "wrong usage",
  },
  async run({ agent, home }) {
    const { agents, entry } = await openAgent(home, agent);
    if (entry.builtIn) {
      const text = `The agent ${agent} is part of Reins, which performs its actions itself.\n`;
      return { json: { agent, level: "performed", live: true }, text: () => text };
    }
    const json = await verifyInstalled(agents, entry, await requireInstalled(agents, entry));
    const exitCode = json.live ? EXIT.done : EXIT.failed;
    return { json, text: () => describeReport(json, entry.name), exitCode };
  },
});

/** Verifies an install as it would run in its home and stores the result. Shows the progress on stderr. */
export async function verifyInstalled(
  agents: HomeAgents,
  entry: AgentEntry,
  installed: Installed,
): Promise<VerifyReport> {
  const confined = agents.isConfined(entry.id);
  const line = new VerifyLine(process.stderr, entry.name);
  let told: Probed | undefined;
  try {
    const report = await withStopSignal((signal) =>
      verifyAgent({
        entry,
        installed,
        confined,
        environment: process.env,
        signal,
        onProgress: (progress) => line.update(progress),
        onProbed: (probed) => {
          told = probed;
        },
      }),
    );
    await agents.stamps.keep(report, { entry, installed, confined }, new Date());
    if (told) await agents.probes.keep(entry, told);
    return report;
  } catch (error) {
    throw agentError(error, entry.id, entry);
  } finally {
    line.clear();
  }
}

interface VerifyScreen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows the progress of a verification: one line on a terminal, a line per setting elsewhere. */
class VerifyLine {
  readonly #screen: VerifyScreen;
  readonly #name: string;
  #setting: string | undefined;

  constructor(screen: VerifyScreen, name: string) {
    this.#screen = screen;
    this.#name = name;
  }

  update({ setting, name, answer, done, total }: VerifyProgress): void {
    const where = SETTINGS[setting];
    if (this.#screen.isTTY)
      this.#screen.write(
        `\r\u001b[Kverifying ${this.#name}: ${done} of ${total} (${where}, ${name}, ${answer})`,
      );
    else if (setting !== this.#setting) this.#screen.write(`verifying ${this.#name}: ${where}\n`);
    this.#setting = setting;
  }

  clear(): void {
    if (this.#screen.isTTY && this.#setting !== undefined) this.#screen.write("\r\u001b[K");
  }
}

const SETTINGS: Readonly<Record<ProbeResult["setting"], string>> = {
  plain: "harmless workspace",
  hostile: "hostile workspace",
  loaded: "after session/load",
  resumed: "after session/resume",
};

const PROBE_NAMES: Readonly<Record<ProbeResult["probe"], string>> = {
  write: "write a file",
  command: "run a command",
  look: "run a harmless command",
  read: "read in the workspace",
  outside: "read outside of it",
  fetch: "fetch a page",
  mention: "read what @path names",
  link: "read what a link names",
  switch: "ask no more by a /command",
  subagent: "have a sub-agent run it",
  unprompted: "go on when left alone",
};

const PROBES: readonly ProbeResult["probe"][] = [
  ...(["write", "command", "look", "read", "outside", "fetch"] as const),
  ...(["mention", "link", "switch", "subagent", "unprompted"] as const),
];

export function describeReport(report: VerifyReport, name: string): string {
  const { version, live, level, unasked } = report;
  const verdict = live ? `the gate is live, at the level ${level}` : `the gate is NOT live (${level})`;
  const besides = unasked.length > 0 ? `; done unasked and seen: ${unasked.join(", ")}` : "";
  const rounds = [...Map.groupBy(report.probes, ({ setting, answer }) => `${setting} ${answer}`).values()];
  const parts = [
    `${name} ${printableLine(version)}: ${verdict}${besides}\n`,
    table([["told to", "held", "tools"], ...PROBES.map((probe) => probeRow(report, probe))]),
    table([["where", "answered", ...PROBES], ...rounds.map(roundRow)]),
    notes(report),
    faults(report),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** One row per probe: what stopped it, and the tools that the agent used for it. */
function probeRow({ held, probes }: VerifyReport, name: ProbeResult["probe"]): string[] {
  const used = probes
    .filter(({ probe }) => probe === name)
    .flatMap(({ asked, observed, failed }) => [...asked.map(({ tool }) => tool), ...observed, ...failed]);
  return [PROBE_NAMES[name], held[name], printableLine([...new Set(used)].join(", ")) || "-"];
}

function roundRow(round: readonly ProbeResult[]): string[] {
  const [first] = round;
  if (!first) return [];
  const cells = PROBES.map((name) => round.find(({ probe }) => probe === name)?.outcome ?? "-");
  return [SETTINGS[first.setting], first.answer, ...cells];
}

function notes({ stripped, sprung, heard, remarks }: VerifyReport): string {
  const keys = [...new Set(stripped.map(({ what }) => what))];
  const lines = [
    ...(keys.length > 0 ? [`taken out of what the client sent: ${keys.join(", ")}`] : []),
    sprung.length === 0
      ? "no code of the hostile workspace, home or environment was run"
      : `${sprung.length} things of the hostile workspace, home or environment were run`,
    ...(heard.length > 0 ? ["what the hostile workspace tells agents reached the model"] : []),
    ...remarks,
  ];
  return lines.map((line) => `${printableLine(line)}\n`).join("");
}

function faults({ faults }: VerifyReport): string {
  return faults.map((fault) => `! ${printableLine(fault)}\n`).join("");
}
