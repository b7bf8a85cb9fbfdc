import { homedir } from "node:os";
import { resolve } from "node:path";
import { type AhpEvent, AhpServer, EventType } from "@reins/ahp";
import { errorMessage, isLoopback } from "@reins/kit";
import {
  type Access,
  type AdminApi,
  agentRoutes,
  Cluster,
  Gateway,
  haakRoutes,
  hostRoutes,
  Membership,
  NodeLink,
  type ServedReins,
} from "@reins/server";
import { command, type ValuesOf } from "../../command.ts";
import { readConfiguration } from "../../configuration/configuration.ts";
import { OUTPUT } from "../../configuration/exports.ts";
import { requirePolicyFiles } from "../../configuration/policy-files.ts";
import { requireFolder } from "../../files.ts";
import { homeFolder, openHome, operatorSocketIn, socketIn } from "../../home.ts";
import { inspectorFolder, version } from "../../installation.ts";
import { type Log, logLevel, openLog } from "../../log.ts";
import { HomeStore } from "../../reins/home-store.ts";
import { openHome as openReinsHome } from "../../reins/reins.ts";
import { type OpenedReins, ReinsOpener } from "../../reins/reins-opener.ts";
import { refuseOpenServer } from "../../serving/address.ts";
import { adminApi, openAccess, serveGateway, serveNodes, serveOperator } from "../../serving/gateway.ts";
import {
  type ListeningServer,
  readTls,
  serveSocket,
  serveUntilStopped,
  startAll,
  type TlsPair,
} from "../../serving/listen.ts";
import { announceStart, installedIn } from "../../serving/start-message.ts";
import { surviveFullDisk, watchForStop } from "../../serving/stop.ts";
import { ahpHandlers, type DecisionObserver } from "./ahp-handlers.ts";
import { sessionWorkspace } from "./locations.ts";
import { resolveUpSettings, UP_INPUTS, type UpSettings } from "./settings.ts";

export const upCommand = command({
  description:
    "Serves AHP over HTTP and WebSocket at /ahp, and on ahp.sock in the home folder; the API of Reins at\n" +
    "/v1, and for this user's reins commands on reins.sock; HAAK's sessions, for OpenClaw clients, at /ws and /.\n" +
    "Decides with the constitution of the home, which is written on the first start; see reins policy.\n" +
    "An allowed action is on disk, in the ledger of the home, before the response; see reins ledger.\n" +
    "Runs until Ctrl-C; running work may finish, a second Ctrl-C ends it at once (exit code 130).\n" +
    "Logs human lines on a terminal and one JSON document per line elsewhere.",
  inputs: UP_INPUTS,
  note: `reins.yaml in the home may set host, port, allow_hosts, tls ({cert, key}), workspaces, tenants (their
roots), oidc (issuers whose users may use this server),
quotas (of principals and tenants), agent_idle, cancel_grace, retention, db, store (the address of
a database in PostgreSQL instead), policy, constitution, ttl, preload_standing,
heartbeat_interval (0 for none), node (this Reins is one of several on that database), ws ({auth: none} accepts local clients without a token, as unknown), and
webhooks for approvals.

Environment, each overridden by its flag:
  REINS_HOST, REINS_PORT, REINS_HOME, REINS_TOKEN, REINS_DB, REINS_POLICY, REINS_CONSTITUTION, REINS_TTL,
  REINS_PRELOAD_STANDING, REINS_HEARTBEAT_INTERVAL
  REINS_STORE    the state in PostgreSQL: postgres://user:password@host/database, or @file with such an address; has no
                 flag, which other users of this machine could read
  REINS_NODE, REINS_NODE_LISTEN, REINS_NODE_ADVERTISE
                 the name of this node, and where it listens for the others and is reached by them
  REINS_SKILLS_PATH  folders with skills, with colons between them
  REINS_STOP_AT_EOF  1 stops it when its standard input ends: with a program that holds the other end of a pipe
  REINS_LOG      trace, debug, info, warn, error or silent`,
  examples: [
    "reins up",
    "reins up --port 0                                any free port; see what it prints",
    "REINS_TOKEN=@/run/secrets/reins reins up --host 0.0.0.0",
    "reins up --home ./scratch                        a second Reins beside the first",
    "reins up --policy haak.yaml --preload-standing   with other rules, and the standing agents of the roster",
    "reins ledger log -f                              what it records, from another terminal",
  ],
  codes: {
    done: "stopped by Ctrl-C, SIGTERM or the end of its input",
    failed: "failed",
    usage: "wrong usage, or a host open to others without a token",
    taken: "the port is in use, or Reins is already running on this home",
  },
  async run(flags, { verbose }) {
    const file = await readConfiguration(homeFolder(flags.home, process.env));
    const settings = resolveUpSettings(flags, process.env, file);
    const { home, database } = settings;
    refuseOpenServer(settings.host, settings.tokens);
    // Records and the log would get between each other's lines.
    const isForRecords = file.audit.some(({ to }) => to === OUTPUT);
    const log = await openLog(isForRecords ? process.stderr : process.stdout, logLevel(verbose, process.env));
    const tls = readTls(settings.tls);
    await openHome(home, (message) => log.warn(message));
    await requirePolicyFiles(settings.policyFiles);
    const source = flags.workspace === undefined ? "A folder under workspaces in reins.yaml" : "--workspace";
    for (const folder of settings.workspaces) await requireFolder(folder, source);
    for (const folder of Object.values(settings.tenants).flat())
      await requireFolder(folder, "A folder under tenants in reins.yaml");
    const { node } = settings.cluster ?? {};
    const store = await HomeStore.prepare(home, { acceptLoss: flags.acceptLoss ?? false, database, node });
    const restore = surviveFullDisk(log);
    try {
      await serve({ settings, flags, log, tls, store });
    } finally {
      await store.close();
      restore();
      // A reader that hangs keeps no process: the records that it did not take are exported again.
      if (isForRecords) setTimeout(() => process.exit(), LAST_OUTPUT_MS).unref();
    }
  },
});

/** How long the last records have to be read when Reins has stopped. */
const LAST_OUTPUT_MS = 1_000;

interface PreparedUp {
  readonly settings: UpSettings;
  readonly flags: ValuesOf<typeof UP_INPUTS>;
  readonly log: Log;
  readonly tls: TlsPair | undefined;
  readonly store: HomeStore;
}

async function serve({ settings, flags, log, tls, store }: PreparedUp): Promise<void> {
  const { home, tokens, runner: haak } = settings;
  const workspace = await sessionWorkspace(home, settings.workspaces, process.cwd());
  const stop = watchForStop({ input: process.env.REINS_STOP_AT_EOF === "1" ? process.stdin : undefined });
  const cluster =
    settings.cluster &&
    new Cluster({
      link: new NodeLink({ secret: settings.cluster.secret, log }),
      harness: () => opener.harness(),
      membership: () => opener.membership(),
    });
  const admin = adminApi(home, () => opener.hosting(), cluster);
  // Known once it listens, before the home is opened.
  let address = "";
  // Opens the harness while the server listens already.
  const opener: ReinsOpener = new ReinsOpener({
    log,
    now: () => performance.now(),
    open: async (report) => {
      store.begin();
      const openStore = () => store.open();
      const losses = { acceptLoss: flags.acceptLoss, losses: () => store.losses };
      const skillDirs = (flags.skillDir ?? []).map((folder) => resolve(folder));
      const { advertise } = settings.cluster ?? {};
      const nodeHost = advertise && new URL(`tcp://${advertise}`).hostname;
      const own = { openStore, workspace, tap: admin.tap, haak, nodeHost };
      const parts = { home, log, report, flags, ...own, ...losses };
      const opened = await openReinsHome({ ...parts, skillDirs, exportsToOutput: true });
      admin.attend(opened.harness, opened.hosting);
      return cluster ? joined(opened, { cluster, settings, address, report }) : opened;
    },
  });
  const access = await openAccess({ home, tokens, cluster: settings.cluster?.secret });
  const opened = await listen(settings, {
    ...{ tls, opener, admin, access, log, cluster },
    onNodes: (where) => {
      address = where;
    },
  });
  const ownToken = tokens.length === 0;
  await announceStart({ opened, access, home, workspace, ownToken, mayOpen: flags.open, log });
  warn(settings, tls !== undefined, log);
  opener.start();
  admin.start();
  await serveUntilStopped(opened, stop, log, opener);
}

interface JoinParts {
  readonly cluster: Cluster;
  readonly settings: UpSettings;
  readonly address: string;
  readonly report: (error: unknown) => void;
}

/** A home that is one of several on a database. */
async function joined(opened: ServedReins, parts: JoinParts): Promise<OpenedReins> {
  const { cluster, settings, address, report } = parts;
  const { harness, hosting, store } = opened;
  const membership = await Membership.open({
    ...{
      hosting,
      store,
      address,
      vaultKey: harness.vault.keyId,
      link: cluster.link,
      version: version(),
      onError: report,
    },
    labelsFor: (tenant) => settings.placement[tenant],
    agents: () => installedIn(settings.home),
  }).catch(async (error: unknown) => {
    await opened.close();
    throw error;
  });
  hosting.hub.tenants.listen({ released: async (tenant) => cluster.release(tenant) });
  return {
    ...{ ...opened, membership },
    close: async () => {
      membership?.close();
      await opened.close();
    },
    abandonAfter: async (error) => {
      const isAbandoned = await opened.abandonAfter(error);
      if (isAbandoned) membership?.close();
      return isAbandoned;
    },
  };
}

interface ServedParts {
  readonly tls: TlsPair | undefined;
  readonly opener: ReinsOpener;
  readonly admin: AdminApi;
  readonly access: Access;
  readonly log: Log;
  readonly cluster: Cluster | undefined;
  /** Called with the address at which other nodes reach this one. */
  readonly onNodes: (address: string) => void;
}

/** Opens the sockets first: they show whether a Reins runs on this home, whatever its port. */
async function listen(settings: UpSettings, parts: ServedParts): Promise<ListeningServer[]> {
  const { tls, opener, admin, access, log, cluster, onNodes } = parts;
  const { host, port, home, allowHosts, workspaces, auth, native, oidc, quotas } = settings;
  const workspace = { cwd: workspaces[0] ?? homedir(), roots: workspaces };
  const observers = { observe: decisionLogger(log), onRefused: rejectionLogger(log) };
  const hooks = async () => (await opener.hosting()).hooks;
  const handlers = ahpHandlers({ harness: opener.harness, hooks, workspace, native, ...observers });
  const server = new AhpServer(admin.tapped(handlers), {
    info: { name: "reins", version: version(), capabilities: [...CAPABILITIES] },
    onDropped: (reason, text) => log.debug({ reason, length: text.length }, "dropped a message"),
  });
  const gateway = await Gateway.create({
    harness: opener.harness,
    ahp: server,
    access,
    oidc,
    quotas,
    version: version(),
    log,
    ui: inspectorFolder(),
    workspaceFor: async (principal) => (await opener.hosting()).host.folders.defaultFor(principal),
    onAnswered: admin.answered,
    stalls: admin.stalls,
    runsOutage: opener.runsOutage,
    cluster,
    routes: [
      ...agentRoutes({ harness: opener.harness, hosting: opener.hosting, log, defaultAgent: "native" }),
      haakRoutes({ harness: opener.harness, runner: opener.runner, auth, log }),
      ...hostRoutes(log),
      ...admin.routes,
    ],
  });
  const node = settings.cluster;
  return startAll([
    ...(node
      ? [
          async () => {
            const nodes = await serveNodes(gateway, node);
            onNodes(nodes.address);
            return nodes;
          },
        ]
      : []),
    () => serveSocket(server, socketIn(home), alreadyRunning(home)),
    () => serveOperator(gateway, operatorSocketIn(home), usedByCommand(home)),
    () => serveGateway(gateway, { host, port, allowHosts, tls }),
  ]);
}

function usedByCommand(home: string) {
  return {
    message: `${home} is in use by a command that runs agents, such as reins acp of an editor or reins run.`,
    next: "End it first (close the editor's agent), then start Reins; editors that start later use it.",
  };
}

function alreadyRunning(home: string) {
  return {
    message: `Reins is already running on ${home}: it answers on ${socketIn(home)}.`,
    next: "Use that one, stop it first, or start this one on another home: reins up --home <folder> --port <port>",
  };
}

function warn({ host, auth }: UpSettings, encrypted: boolean, log: Log): void {
  if (auth === "none") log.warn("local clients may use /ws without a token, as unknown");
  if (!isLoopback(host) && !encrypted)
    log.warn("tokens and events are sent unencrypted: configure a certificate, or use a TLS proxy");
}

function rejectionLogger(log: Log): (event: AhpEvent, error: unknown) => void {
  return ({ event_type, session_id, agent_id }, error) =>
    log.warn({ event_type, session_id, agent_id, error: errorMessage(error) }, "rejected");
}

function decisionLogger(log: Log): DecisionObserver {
  return ({ event_type, session_id, agent_id, depth }, decision) => {
    const fields = { event_type, session_id, agent_id, depth, decision };
    if (decision === undefined) log.debug(fields, "noted");
    else log.info(fields, "decided");
  };
}

/** Everything that the harness decides, answers or records. */
const CAPABILITIES: readonly string[] = [
  ...EventType.options.filter((type) => type !== "handshake"),
  "batch",
];
