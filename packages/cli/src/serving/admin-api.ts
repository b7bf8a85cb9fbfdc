import { homedir } from "node:os";
import { join } from "node:path";
import type { Hosting } from "@reins/host";
import { AdminApi, type AgentRegistry } from "@reins/server";
import { HomeAgents } from "../hosting/home-agents.ts";
import { version } from "../installation.ts";

/** The admin API of a home. Loads what it needs on the first request. */
export function adminApi(home: string, hosting: () => Promise<Hosting>): AdminApi {
  let registry: Promise<AgentRegistry> | undefined;
  const agents = () => {
    registry ??= openRegistry(home);
    registry.catch(() => {
      registry = undefined;
    });
    return registry;
  };
  const environment = process.env;
  const stallFile = join(home, "stalls.log");
  return new AdminApi({
    ...{ hosting, agents, environment, stallFile },
    userHome: homedir(),
    version: version(),
  });
}

async function openRegistry(home: string): Promise<AgentRegistry> {
  return HomeAgents.open(home);
}
