import { homedir } from "node:os";
import { resolve } from "node:path";
import {
  type HookReport,
  hookAgent,
  hookAgents,
  hookState,
  installHooks,
  type ProbeHarness,
  probeHooks,
  switchedOffBy,
  uninstallHooks,
  waitOf,
} from "@reins/agents";
import { AhpClient, AhpServer, serveUnix } from "@reins/ahp";
import { command, group, homeInput } from "../command.ts";
import { programPath } from "../configuration/agents-file.ts";
import { EXIT } from "../errors.ts";
import { wholeNumber } from "../flags.ts";
import { openHome, socketIn } from "../home.ts";
import { agentError } from "../hosting/agent-error.ts";
import { openAgent, requireInstalled } from "../hosting/home-agents.ts";
import { version } from "../installation.ts";
import { table } from "../output.ts";

const AGENT = [
  "<agent>",
  "the agent: " +
    hookAgents()
      .map(({ id }) => id)
      .join(", "),
] as const;
const FLAGS = {
  home: homeInput("the home folder of the Reins that decides"),
  json: ["--json", "print the result as JSON"],
} as const;
const CODES = { done: "done", failed: "failed; the message says why", usage: "wrong usage" } as const;

/** Where hooks of an agent of this user are. */
function placeOf(agent: string, home: string) {
  return { agent: hookAgent(agent), home, userHome: homedir(), environment: process.env };
}

/** Runs an operation on hooks, and explains its errors. */
async function explained<Result>(agent: string, operation: () => Promise<Result>): Promise<Result> {
  try {
    return await operation();
  } catch (error) {
    throw agentError(error, agent);
  }
}

const installCommand = command({
  summary: "write the hooks into the agent's settings of this user",
  description:
    "Has an agent ask the running Reins before each tool call and each prompt. Writes the agent's user-level\n" +
    "settings and keeps everything else in them. Installing again replaces the hooks.",
  inputs: {
    agent: AGENT,
    wait: [
      "--wait <seconds>",
      "how long a call waits for a person (default: 600)",
      { read: wholeNumber(5), absent: () => 600 },
    ],
    reads: [
      "--reads <what>",
      "while Reins is not running: block tools that only\nread, or leave them to the agent's own gate (allow)",
      { choices: ["allow", "block"], absent: () => "block" },
    ],
    ...FLAGS,
  },
  note: "What Reins cannot decide is blocked: start it with reins up. Sessions that run already go on without the hooks.",
  examples: ["reins hooks install claude", "reins hooks install claude --reads allow --wait 120"],
  codes: CODES,
  async run({ agent, wait, reads, home }, { notice }) {
    await openHome(home, notice);
    return explained(agent, async () => {
      const place = placeOf(agent, home);
      const chosen = reads === "allow" ? "allow" : "block";
      const { path, changed } = await installHooks({ ...place, node: process.execPath, wait, reads: chosen });
      const done = changed ? "installed" : "already installed";
      const { name, weakness } = place.agent;
      const waits = waitOf({ agent: place.agent, wait });
      const shortened =
        `${name} goes on without an answer when its hook takes a minute, so a call waits ${waits} s for a person; ` +
        "an approval that is answered later counts when the call comes again";
      return {
        json: { agent, path, changed, wait: waits },
        text: () =>
          `${done}  hooks of ${name} in ${path}\nTo prove that they work: reins hooks status ${agent}\n`,
        notices: [
          ...(waits < wait ? [shortened] : []),
          ...(weakness === undefined ? [] : [`${name}: ${weakness}`]),
        ],
      };
    });
  },
});

const uninstallCommand = command({
  summary: "bring the agent's settings back to what they were",
  description:
    "Takes the hooks of this home out. Settings that were not changed since get back every byte, and a file that was\n" +
    "not there is removed; from settings that were changed, only the hooks go.",
  inputs: { agent: AGENT, ...FLAGS },
  examples: ["reins hooks uninstall claude"],
  codes: CODES,
  async run({ agent, home }) {
    return explained(agent, async () => {
      const { path, changed, others } = await uninstallHooks(placeOf(agent, home));
      const done = changed ? "removed  hooks from" : "nothing to remove in";
      return {
        json: { agent, path, changed, others },
        text: () => `${done} ${path}\n`,
        notices: others.map(
          (other) => `hooks of the home ${other} stay: reins hooks uninstall ${agent} --home ${other}`,
        ),
      };
    });
  },
});

const statusCommand = command({
  summary: "prove that the hooks decide what the agent does",
  description:
    "Runs the agent's own program with the hooks as they are installed, in temporary folders, with a model that runs a\n" +
    "command and writes a file: Reins blocks, allows or is away; in an ordinary folder and in hostile repositories.\n" +
    "Says, too, whether settings of this folder, or of one above it, switch the hooks off here.",
  inputs: {
    agent: AGENT,
    program: [
      "--program <path>",
      "the agent's program (default: the one on PATH, else\nthe one that Reins installed)",
    ],
    folder: ["--folder <path>", "the folder whose settings may switch them off\n(default: this one)"],
    ...FLAGS,
  },
  examples: ["reins hooks status claude"],
  codes: {
    ...CODES,
    failed: "the hooks are not installed, or not live in an ordinary folder or in this one",
  },
  async run({ agent, program, folder = ".", home }, { notice }) {
    return explained(agent, async () => {
      const place = placeOf(agent, home);
      const { name, terminal, weakness } = place.agent;
      const { path, installed } = await hookState(place);
      const isUp = await answers(home);
      if (installed === "no")
        return {
          json: { agent, path, installed, running: isUp },
          text: () => `${name}: no hooks in ${path}\n`,
          exitCode: EXIT.failed,
        };
      const { agents, entry } = await openAgent(home, agent);
      const found = program ?? (await programPath(terminal.program));
      const install = found === undefined ? (await requireInstalled(agents, entry)).folder : undefined;
      const report = await probeHooks({
        ...{ ...place, entry, node: process.execPath, program: found, install, serve: serveProbe },
        onProgress: (where) => notice(`trying ${name}: ${where}`),
      });
      const isLive = report.live && installed === "yes";
      const there = resolve(folder);
      const here = { folder: there, switched_off_by: await switchedOffBy(place.agent, there) };
      const isLiveHere = isLive && here.switched_off_by === undefined;
      return {
        json: {
          agent,
          path,
          installed,
          running: isUp,
          ...report,
          live: isLive,
          here: { ...here, live: isLiveHere },
        },
        text: () => describe(name, isLive, report),
        notices: [
          ...(here.switched_off_by === undefined
            ? []
            : [`the hooks are NOT live in ${here.folder}: ${here.switched_off_by} switches them off`]),
          ...(report.unreviewed.length === 0
            ? []
            : [
                `${name} runs none of these hooks before you have reviewed them there: ${report.unreviewed.join(", ")}`,
              ]),
          ...(isUp ? [] : ["Reins does not run on this home, so every step is blocked: reins up"]),
          ...(report.hostile || weakness === undefined ? [] : [`${name}: ${weakness}`]),
        ],
        exitCode: isLiveHere ? EXIT.done : EXIT.failed,
      };
    });
  },
});

function describe(name: string, isLive: boolean, { hostile, probes }: HookReport): string {
  const held = hostile ? "also in hostile repositories" : "NOT in every hostile repository";
  const verdict = isLive ? `the hooks are live, ${held}` : "the hooks are NOT live";
  const rows = probes.map(({ setting, answer, asked, happened, held: ok }) => [
    ...[setting, answer, String(asked), happened.join(", ") || "-", ok ? "held" : "NOT held"],
  ]);
  return `${name}: ${verdict}\n\n${table([["where", "Reins", "asked", "done", ""], ...rows])}`;
}

/** Decides every event of a trial in one way. */
async function serveProbe(path: string, answer: "allow" | "block"): Promise<ProbeHarness> {
  let asked = 0;
  const server = new AhpServer(
    {
      event: ({ event_type }) => {
        if (event_type !== "pre_action") return { decision: "allow" };
        asked += 1;
        return answer === "allow"
          ? { decision: "allow" }
          : { decision: "block", reason: "a trial blocks it" };
      },
    },
    { info: { name: "reins", version: version(), capabilities: [] } },
  );
  const served = await serveUnix(server, { path });
  return {
    get asked() {
      return asked;
    },
    [Symbol.asyncDispose]: () => served.close(),
  };
}

/** Whether a Reins answers on the socket of a home. */
async function answers(home: string): Promise<boolean> {
  try {
    const client = await AhpClient.connect({ type: "unix", path: socketIn(home) }, { reconnect: false });
    await client.handshake([]);
    await client.close();
    return true;
  } catch {
    return false;
  }
}

export const hooksCommand = group(
  "Puts an agent that you use in a terminal under the rules, approvals and ledger of Reins, by the agent's own hooks.",
  { install: installCommand, uninstall: uninstallCommand, status: statusCommand },
);
