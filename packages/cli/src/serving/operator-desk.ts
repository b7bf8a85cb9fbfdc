import { homedir } from "node:os";
import { join } from "node:path";
import type { Hosting } from "@reins/host";
import { type AgentShelf, OperatorDesk } from "@reins/server";
import { version } from "../installation.ts";

/** The admin API of a home. Loads what it needs on the first request. */
export function operatorDesk(home: string, hosting: () => Promise<Hosting>): OperatorDesk {
  let registry: Promise<AgentShelf> | undefined;
  const agents = () => {
    registry ??= openRegistry(home);
    registry.catch(() => {
      registry = undefined;
    });
    return registry;
  };
  const environment = process.env;
  const stallFile = join(home, "stalls.log");
  return new OperatorDesk({
    ...{ hosting, agents, environment, stallFile },
    userHome: homedir(),
    version: version(),
  });
}

async function openRegistry(home: string): Promise<AgentShelf> {
  const { HomeAgents } = await import("../hosting/home-agents.ts");
  return HomeAgents.open(home);
}
