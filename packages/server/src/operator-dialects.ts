import type { Hosting } from "@reins/host";
import type { Dialect } from "./dialect/dialect.ts";
import type { AgentShelf } from "./v1/agents/agent-shelf.ts";
import { AgentsDialect } from "./v1/agents/agents-dialect.ts";
import { killDialect } from "./v1/kill/kill-dialect.ts";

/** What the dialects need by which a Reins that runs is operated. */
export interface OperatorDialectsOptions {
  /** Waits until agents can be run; rejects with a reason that a person understands. */
  readonly hosting: () => Promise<Hosting>;
  /** The agents of the home. */
  readonly agents: () => Promise<AgentShelf>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The user's home, from which agents' credentials come. */
  readonly userHome: string;
}

/** What is asked by whoever operates a Reins that runs: its agents, and the way to end them. */
export function operatorDialects(options: OperatorDialectsOptions): readonly Dialect[] {
  return [new AgentsDialect(options), killDialect(options.hosting)];
}
