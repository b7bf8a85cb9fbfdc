import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import type { Evidence, GovernedTrial, GovernedTrialOptions, TrialRecord } from "@reins/agents";
import {
  Catalogue,
  ERRAND,
  type TrialAnswer,
  type VerifyOptions,
  type VerifyReport,
  verifyGate,
} from "@reins/agents";
import { KeyFolder, Ledger, ledgerTables, type PlacedEntry } from "@reins/ledger";
import { McpGateway } from "@reins/mcp";
import { Owner } from "@reins/runner";
import { openSqlite, type Store } from "@reins/store";
import { Harness, harnessTables, UNGATED } from "@reins/supervisor";
import { LATE_MS, UNPROMPTED } from "../governor/unprompted.ts";
import { AgentHost, type HostedAgent } from "../hosting/agent-host.ts";
import { sessionTables } from "../sessions/tables.ts";

const PAGE = 1_000;

/** Proves whether an agent's gate is live, with a governor like the one it will run under. */
export function verifyAgent(options: Omit<VerifyOptions, "govern">): Promise<VerifyReport> {
  return verifyGate({ ...options, govern: openGovernedTrial });
}

/** Opens a real harness with a ledger in an empty folder, and runs an agent under it. */
export async function openGovernedTrial(options: GovernedTrialOptions): Promise<GovernedTrial> {
  const { home, userHome } = options;
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(join(home, "constitution.yaml"), constitution("reject"));
  const tables = [ledgerTables, ...harnessTables, sessionTables];
  const store = await openSqlite({ path: join(home, "reins.db"), tables });
  const opened = [() => store.close()];
  try {
    const signers = new KeyFolder(join(home, "keys"));
    const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/trial" });
    const harness = await Harness.open({ home, userHome, store, ledger });
    opened.unshift(() => harness.close());
    const owner = new Owner(home);
    return new HostTrial(options, {
      harness,
      store,
      owner,
      gateway: await McpGateway.open({ owner, redactor: harness.redactor }),
    });
  } catch (error) {
    for (const close of opened) await close();
    throw error;
  }
}

interface TrialParts {
  readonly harness: Harness;
  readonly store: Store;
  readonly owner: Owner;
  readonly gateway: McpGateway;
}

class HostTrial implements GovernedTrial {
  readonly lateMs = LATE_MS;
  readonly #options: GovernedTrialOptions;
  readonly #parts: TrialParts;
  readonly #host: AgentHost;
  #agent: HostedAgent | undefined;
  #read = 0;

  constructor(options: GovernedTrialOptions, parts: TrialParts) {
    this.#options = options;
    this.#parts = parts;
    const { entry, installed, environment, userHome, model, sandbox } = options;
    this.#host = new AgentHost({
      ...{ harness: parts.harness, owner: parts.owner, gateway: parts.gateway },
      ...{ environment, userHome },
      catalogue: Catalogue.load([entry]),
      install: async () => installed,
      // What it asks for is taken at its word: whether it keeps it is what the trial finds out.
      levelFor: async () => "asked",
      modelFor: () => model,
      ...(sandbox && { sandbox }),
    });
  }

  async start(): Promise<HostedAgent> {
    const { entry, confinedTo } = this.#options;
    this.#agent = await this.#host.start(entry.id, {
      principal: this.#parts.harness.identity.local(),
      from: "trial",
      clients: () => ({ notify: () => undefined, request: refuse }),
      // It needs the network for the model, which is on this machine.
      ...(confinedTo && { confine: { roots: confinedTo, network: "open" } }),
    });
    return this.#agent;
  }

  async request(method: string, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    if (!this.#agent) throw new Error("the agent of the trial does not run");
    return await this.#agent.governor.request(method, params, { signal });
  }

  async stop(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.stop("the trial is over");
  }

  async answer(answer: TrialAnswer): Promise<void> {
    const { policies, home, identity } = this.#parts.harness;
    const { tenant } = identity.local();
    await writeFile(join(home, "constitution.yaml"), constitution(answer));
    await policies.refresh();
    if (policies.status(tenant)?.waiting) await policies.accept(tenant, identity.local().user);
  }

  async recorded(): Promise<TrialRecord> {
    const { ledger, supervisor } = this.#parts.harness;
    await supervisor.close();
    const entries: PlacedEntry["entry"][] = [];
    for (;;) {
      const page = await ledger.read({ after: this.#read, limit: PAGE });
      for (const { seq, entry } of page) {
        this.#read = seq;
        entries.push(entry);
      }
      if (page.length < PAGE) return { ...evidenceIn(entries), stripped: strippedIn(entries) };
    }
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#parts.gateway.close();
    await this.#parts.harness.close();
    await this.#parts.store.close();
  }
}

/** A trial has no client that could answer. */
async function refuse(method: string): Promise<never> {
  throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
}

/** The decided and the ungated calls of a turn, as the ledger has them. */
function evidenceIn(entries: readonly PlacedEntry["entry"][]): Evidence {
  const asked = entries.flatMap(({ quality, target, payload }) => {
    const { event_type, verdict, enforcement, rule } = membersOf(payload);
    if (quality !== "policy_verdict" || event_type !== "pre_action" || rule === ERRANDS_BEGIN) return [];
    return [{ tool: target ?? "unknown", verdict: String(verdict), enforcement: String(enforcement) }];
  });
  const ungated = entries.filter(({ quality, tags }) => quality === "tool_result" && tags.includes(UNGATED));
  const used = (inVain: boolean) =>
    ungated.flatMap(({ target, tags }) =>
      tags.some((tag) => tag === "failed" || tag === "refused") === inVain ? [target ?? "unknown"] : [],
    );
  const stopped = entries.some(
    ({ quality, target, payload }) =>
      quality === "policy_verdict" && target === UNPROMPTED && membersOf(payload).verdict === "blocked",
  );
  return { asked, observed: used(false), failed: used(true), stopped };
}

/** What was removed from session calls, as the ledger has it. */
function strippedIn(entries: readonly PlacedEntry["entry"][]): readonly string[] {
  return entries.flatMap(({ quality, payload }) => {
    const { stripped } = membersOf(payload);
    return quality === "session_lifecycle" && Array.isArray(stripped) ? stripped.map(String) : [];
  });
}

/** The rule by which sub-agents start, and later work is arranged. */
const ERRANDS_BEGIN = "errands_begin";

/** The members of arguments by which agents are given something to do. */
const PROMPTED_BY = ["prompt", "task", "message", "objective"];

/**
 * Sessions begin and prompts pass; what was done unasked is noted and ends nothing, so that all of it is seen. Work without
 * a prompt is stopped, as the rules of a new home have it.
 */
function constitution(answer: TrialAnswer): string {
  const verdict = answer === "allow" ? "allowed" : "blocked";
  const errands = PROMPTED_BY.map((member) => `{ arguments: { ${member}: "*${ERRAND}*" } }`).join(", ");
  return `tool_rules:
  - name: unprompted_work_is_stopped
    condition: { tool_name_matches: [${UNPROMPTED}] }
    verdict: blocked
    reason: there was no prompt
  - name: sessions_begin_and_prompts_pass
    condition: { event: [session_start, pre_prompt] }
    verdict: allowed
  - name: what_was_done_unasked_is_noted
    condition: { event: post_action }
    verdict: allowed
  - name: ${ERRANDS_BEGIN}
    condition: { any_of: [${errands}] }
    verdict: allowed
  - name: everything_is_${verdict}
    condition: {}
    verdict: ${verdict}
    reason: this is a trial, in which everything is ${verdict}
`;
}
