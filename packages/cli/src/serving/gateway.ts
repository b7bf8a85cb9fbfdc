import { homedir } from "node:os";
import { join } from "node:path";
import { AhpServer } from "@reins/ahp";
import { type Hosting, SkillLibrary } from "@reins/host";
import { errorMessage } from "@reins/kit";
import {
  Access,
  AccessError,
  type AccessOptions,
  AdminApi,
  type AgentRegistry,
  agentRoutes,
  type Cluster,
  Gateway,
  type GatewayOptions,
  hostRoutes,
  skillRoutes,
} from "@reins/server";
import type { Harness } from "@reins/supervisor";
import { readConfiguration, skillSettings } from "../configuration/configuration.ts";
import type { ClusterNode } from "../configuration/node.ts";
import { CliError, EXIT } from "../errors.ts";
import { operatorSocketIn } from "../home.ts";
import { hasDatabase } from "../home-database.ts";
import { HomeAgents } from "../hosting/home-agents.ts";
import { version } from "../installation.ts";
import { isLocked, ledgerError, noLedger } from "../ledger/ledger-error.ts";
import type { Notice } from "../output.ts";
import { openHomeHarness } from "../reins/reins.ts";
import { hostNames, listenError } from "./address.ts";
import { type ListeningServer, listenOnSocket, type SocketInUse, type TlsPair } from "./listen.ts";

interface GatewayAddress {
  readonly host: string;
  readonly port: number;
  readonly allowHosts: readonly string[];
  readonly tls?: TlsPair | undefined;
}

export async function openAccess(options: AccessOptions): Promise<Access> {
  try {
    return await Access.open(options);
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    throw new CliError(`The access to this home is not safe: ${error.message}.`, {
      next: "Correct that, then run the same command again.",
      exitCode: EXIT.failed,
      cause: error,
    });
  }
}

export async function serveGateway(gateway: Gateway, options: GatewayAddress): Promise<ListeningServer> {
  const { host, port, tls } = options;
  const allowedHosts = [...hostNames(host), ...options.allowHosts.map((name) => name.toLowerCase())];
  try {
    const served = await gateway.listen({ host, port, allowedHosts, ...(tls && { tls }) });
    const address = `${served.address}/ahp`;
    return {
      served,
      addresses: [
        { transport: "http", address },
        { transport: "websocket", address: address.replace(/^http/, "ws") },
      ],
    };
  } catch (error) {
    throw listenError(error, host, port, "reins up");
  }
}

/** Listens for the other nodes; returns how they reach it. */
export async function serveNodes(
  gateway: Gateway,
  { listen, advertise }: Pick<ClusterNode, "listen" | "advertise">,
): Promise<ListeningServer & { readonly address: string }> {
  try {
    const served = await gateway.listenForNodes(listen);
    return { served, addresses: [], address: advertise ?? served.address };
  } catch (error) {
    throw listenError(error, listen.host, listen.port, "reins up");
  }
}

export async function serveOperator(
  gateway: Gateway,
  path: string,
  taken: SocketInUse,
): Promise<ListeningServer> {
  return { served: await listenOnSocket(path, taken, () => gateway.listenSocket(path)), addresses: [] };
}

/**
 * A gateway for the operator of a home that is open in this process. Accepts no AHP agents; serves those of
 * `hosting`.
 */
export function operatorGateway(
  access: Access,
  harness: Harness,
  log: GatewayOptions["log"],
  hosting?: Hosting,
): Promise<Gateway> {
  const opened = async () => harness;
  const agents = hosting
    ? [
        ...agentRoutes({ harness: opened, hosting: async () => hosting, log, defaultAgent: "native" }),
        ...adminApi(harness.home, async () => hosting).routes.filter(({ name }) => name === "agents"),
      ]
    : [skillRoutes(async () => ({ skills: await homeSkills(harness) }))];
  return Gateway.create({
    harness: opened,
    ahp: new AhpServer({ event: () => ({ decision: "block", reason: "no agent comes by this way" }) }),
    access,
    version: version(),
    log,
    routes: [...hostRoutes(log), ...agents],
  });
}

/** The skills of a home in which no agents run. */
async function homeSkills(harness: Harness): Promise<SkillLibrary> {
  const { skills } = await readConfiguration(harness.home);
  const { env: environment } = process;
  return new SkillLibrary({
    harness,
    environment,
    settings: skillSettings(harness.home, skills, environment),
  });
}

/** The admin API of a home. Loads what it needs on the first request. */
export function adminApi(home: string, hosting: () => Promise<Hosting>, cluster?: Cluster): AdminApi {
  let registry: Promise<AgentRegistry> | undefined;
  const agents = () => {
    registry ??= HomeAgents.open(home);
    registry.catch(() => {
      registry = undefined;
    });
    return registry;
  };
  const environment = process.env;
  const stallFile = join(home, "stalls.log");
  return new AdminApi({
    ...{ hosting, agents, environment, stallFile, cluster },
    userHome: homedir(),
    version: version(),
  });
}

/** The API of a home on which no Reins runs. */
interface HomeGateway {
  readonly gateway: Gateway;
  close(): Promise<void>;
}

/** Opens a home; this process holds its lock until it is closed. Rejects a ledger that was changed since it was last seen. */
export async function openHomeGateway(home: string, notice: Notice): Promise<HomeGateway> {
  if (!(await hasDatabase(home))) throw noLedger(home);
  const access = await openAccess({ home });
  const opened = await openHomeHarness(home, notice).catch((error: unknown) => {
    throw isLocked(error) ? homeInUse(home, error) : ledgerError(error, home);
  });
  const warn = (fields: object, message: string) =>
    notice("err" in fields ? `${message}: ${errorMessage(fields.err)}` : message);
  const ignore = () => undefined;
  try {
    const log = { debug: ignore, info: ignore, warn, error: warn };
    const gateway = await operatorGateway(access, opened.harness, log);
    return { gateway, close: () => gateway.close().finally(() => opened.close()) };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function homeInUse(home: string, cause: unknown): CliError {
  return new CliError(`Another process holds ${home}, and no Reins answers on ${operatorSocketIn(home)}.`, {
    next: "If Reins is starting or stopping, or another command runs, try again; else end that process.",
    exitCode: EXIT.taken,
    cause,
  });
}
