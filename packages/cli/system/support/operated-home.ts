import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AhpClient, type Decision, type Transport } from "@reins/ahp";
import { expect } from "vitest";
import { type Ended, folder, listening, Reins, runReins } from "./reins.ts";

let count = 0;

/** What an agent asks for, and as whom. */
export interface Asked {
  readonly agent?: string;
  readonly session?: string;
  readonly tool?: string;
  readonly command?: string;
  readonly arguments?: unknown;
  /** By default the socket, on which everybody is the operator. */
  readonly transport?: Transport;
}

/** A home that no other test uses, with the `reins` that works on it. */
export class OperatedHome {
  readonly path: string;
  readonly workspace: string;
  readonly #variables: NodeJS.ProcessEnv;
  /** The `reins up` that was started last. */
  #up: Reins | undefined;

  /** With variables of the environment of everything that runs on it. */
  constructor(variables: NodeJS.ProcessEnv = {}) {
    count += 1;
    this.#variables = variables;
    this.path = join(folder, `h${count}`);
    this.workspace = join(folder, `w${count}`);
    mkdirSync(this.workspace);
  }

  /** A home that was begun, and on which nothing runs. */
  static async begun(): Promise<OperatedHome> {
    const home = new OperatedHome();
    await home.stop(await home.up());
    return home;
  }

  /** Starts `reins up`, and waits until it decides. */
  async up(variables: NodeJS.ProcessEnv = {}): Promise<Reins> {
    const environment = { ...this.environment, ...variables };
    const reins = await listening(["up", "--port", "0", "--workspace", this.workspace], environment);
    await reins.printed("rules are in force");
    this.#up = reins;
    return reins;
  }

  /** Stops it, cleanly. */
  async stop(reins: Reins): Promise<void> {
    reins.signal("SIGTERM");
    await reins.ended;
  }

  /** Runs a command to its end. */
  run(...args: string[]): Promise<Ended> {
    return runReins(args, this.environment);
  }

  /** Runs a command that has to work, and gives what it prints. */
  async done(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`reins ${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** The same with `--json`, read. */
  async json(...args: string[]) {
    return JSON.parse(await this.done(...args, "--json"));
  }

  /** Starts a command that goes on. */
  start(...args: string[]): Reins {
    return new Reins(args, this.environment);
  }

  /** What the harness says to an agent that wants to do something. */
  async decide(asked: Asked = {}): Promise<Decision> {
    const { agent = "native", session = "s1", tool = "bash", command = "make all" } = asked;
    const transport = asked.transport ?? { type: "unix", path: join(this.path, "ahp.sock") };
    const options = { reconnect: false, onFailure: "throw", agentId: agent, sessionId: session } as const;
    const client = await AhpClient.connect(transport, options);
    try {
      await client.handshake(["pre_action"]);
      const given = asked.arguments ?? { command };
      return await client.sendEvent("pre_action", { tool_name: tool, arguments: given });
    } finally {
      await client.close();
    }
  }

  /** The id of the approval that an agent is sent to when it asks for something. */
  async ask(asked: Asked = {}): Promise<string> {
    const decision = await this.decide(asked);
    const target = decision.decision === "escalate" ? decision.escalation_target : undefined;
    if (!target?.startsWith("approval:"))
      throw new Error(`no approval was asked: ${JSON.stringify(decision)}`);
    return target.slice("approval:".length);
  }

  /** What the API of the `reins up` that was started last answers the operator. */
  async fetched(path: string, init?: RequestInit) {
    if (!this.#up) throw new Error("no reins up was started");
    const headers = {
      authorization: `Bearer ${await this.startToken()}`,
      "content-type": "application/json",
    };
    return Object(
      await (await fetch(new URL(path, this.#up.addressOf("http")), { ...init, headers })).json(),
    );
  }

  /**
   * The approval that waits, of any agent or of one, once there is one. Looked for over HTTP: a command for each look would
   * take more of the processor than what is waited for.
   */
  async pending(agent?: string): Promise<string> {
    const first = async (): Promise<string | undefined> => {
      const { approvals } = await this.fetched("/v1/approvals?state=pending");
      return approvals.find((each: { agent: string }) => agent === undefined || each.agent === agent)?.id;
    };
    await expect.poll(first).toBeDefined();
    return (await first()) ?? "";
  }

  /** Answers an approval over HTTP. */
  async answer(approval: string, decision: "allow_once" | "deny", note?: string): Promise<void> {
    const body = JSON.stringify({ decision, note });
    const { answers } = await this.fetched(`/v1/approvals/${approval}/answer`, { method: "POST", body });
    expect(answers).toMatchObject([{ decision }]);
  }

  /** The token that the home keeps for its operator. */
  async startToken(): Promise<string> {
    return (await readFile(join(this.path, "start-token"), "utf8")).trim();
  }

  get environment(): NodeJS.ProcessEnv {
    return { REINS_HOME: this.path, ...this.#variables };
  }
}
