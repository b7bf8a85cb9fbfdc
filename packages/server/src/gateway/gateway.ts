import type { Server } from "node:net";
import { type AhpServer, listening, listenOnSocket, type OriginRules, type Served } from "@reins/ahp";
import type { Operation } from "@reins/api";
import { type Clock, type SseWriter, systemClock } from "@reins/kit";
import { type Harness, type QuotaSettings, Quotas } from "@reins/supervisor";
import type { FastifyInstance } from "fastify";
import type { Access } from "../access/access.ts";
import { RequestAuthenticator } from "../access/authenticator.ts";
import { Oidc } from "../access/oidc/oidc.ts";
import type { OidcSettings } from "../access/oidc/settings.ts";
import { ahpRoutes } from "../ahp.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type GatewayLimits, type Log, settleLimits } from "../limits.ts";
import { OperationRouter } from "../routes/operation-router.ts";
import type { Routes } from "../routes/router.ts";
import { uiRoutes } from "../ui.ts";
import { descriptionRoutes, healthRoutes, loginRoutes, removedRoutes } from "../v1/access.ts";
import { approvalRoutes, grantRoutes } from "../v1/approvals.ts";
import { identityRoutes, selfRoutes, type WorkspaceFor } from "../v1/identity.ts";
import { ledgerRoutes } from "../v1/ledger.ts";
import { policyRoutes, rosterRoutes } from "../v1/policy.ts";
import { studyRoutes } from "../v1/policy-study.ts";
import { runRoutes } from "../v1/runs.ts";
import type { Stalls } from "../watchdog/watchdog.ts";
import { AllowedMethods, type AnsweredRequest, newApplication } from "./application.ts";
import {
  inProcess,
  Listener,
  type ListenerContext,
  newHttpServer,
  newTlsServer,
  type Tls,
  UnauthenticatedConnections,
} from "./listener.ts";
import { IncomingBodies } from "./request.ts";
import { Upgrades } from "./upgrades.ts";

export interface GatewayOptions {
  /** Waits for the harness; rejects with a reason for users. */
  readonly harness: () => Promise<Harness>;
  readonly ahp: AhpServer;
  readonly access: Access;
  /** What principals and tenants may use at most. */
  readonly quotas?: QuotaSettings | undefined;
  /** The OpenID issuers whose users may use this server. */
  readonly oidc?: readonly OidcSettings[] | undefined;
  readonly version: string;
  readonly log: Log;
  /** Routes beside those of every gateway. */
  readonly routes?: readonly Routes[];
  /** Receives every answered request. */
  readonly onAnswered?: ((answered: AnsweredRequest) => void) | undefined;
  /** The folder of the inspector, served at `/ui/`. */
  readonly ui?: string | undefined;
  /** The folder of sessions that name none. */
  readonly workspaceFor?: WorkspaceFor | undefined;
  /** Stalls of the main thread, where a watchdog runs. */
  readonly stalls?: (() => Stalls) | undefined;
  /** Why durable runs wait, if they do. */
  readonly runsOutage?: (() => string | undefined) | undefined;
  /** The other nodes, where there are several. */
  readonly cluster?: Cluster | undefined;
  readonly clock?: Clock;
  readonly limits?: Partial<GatewayLimits>;
}

export interface ListenOptions extends OriginRules {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly tls?: Tls;
}

/** A request of this process, as clients of the API give it to `fetch`. */
interface FetchRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  /** Text alone is sent. */
  readonly body?: unknown;
}

/** The HTTP server of Reins: one port for every protocol. */
export class Gateway {
  readonly #parts: Parts;
  readonly #listeners = new Set<Listener>();

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Creates a gateway with all routes. Does not wait for the harness. */
  static async create(options: GatewayOptions): Promise<Gateway> {
    const { harness, access, version, log, cluster, clock = systemClock } = options;
    const limits = settleLimits(options.limits);
    const oidc = new Oidc(options.oidc ?? [], clock);
    const authenticator = new RequestAuthenticator({ access, oidc, harness, clock, limits, log });
    const allowed = new AllowedMethods();
    const operations: Operation[] = [];
    const addresses: string[] = [];
    const quotas = new Quotas(options.quotas, clock);
    const upgrades = new Upgrades({
      harness,
      authenticator,
      quotas,
      clock,
      log,
      cluster,
      answerTimeoutMs: limits.answerTimeoutMs,
    });
    const routes: readonly Routes[] = [
      healthRoutes({ harness, version, stalls: options.stalls, runsOutage: options.runsOutage }),
      loginRoutes({ access, oidc, authenticator, harness, addresses: () => addresses }),
      approvalRoutes,
      grantRoutes,
      identityRoutes,
      ledgerRoutes(version),
      policyRoutes,
      studyRoutes,
      rosterRoutes,
      runRoutes,
      selfRoutes(options.workspaceFor),
      descriptionRoutes(operations, version),
      removedRoutes,
      ahpRoutes(options.ahp),
      ...(options.ui === undefined ? [] : [uiRoutes(options.ui)]),
      ...(options.routes ?? []),
    ];
    const bodies = new IncomingBodies(limits, clock);
    const application = newApplication({
      authenticator,
      quotas,
      allowed,
      limits,
      bodies,
      log,
      cluster,
      onAnswered: options.onAnswered,
    });
    for (const group of routes) {
      application.register(async (router) => {
        group.mount(
          new OperationRouter(router, {
            harness,
            quotas,
            clock,
            limits,
            bodies,
            log,
            allowed,
            upgrades,
            operations,
          }),
        );
      });
    }
    await application.ready();
    return new Gateway({ application, routes, upgrades, addresses, limits, clock, cluster });
  }

  /** Listens on a port. Clients must authenticate. */
  async listen({ host, port, tls, allowedHosts = [], allowedOrigins = [] }: ListenOptions): Promise<Served> {
    const name = host.includes(":") ? `[${host}]` : host;
    const rules = {
      allowedHosts: [...allowedHosts, name.toLowerCase()],
      allowedOrigins: allowedOrigins.map((origin) => origin.toLowerCase()),
    };
    const context = {
      operator: false,
      rules,
      secure: tls !== undefined,
      unauthenticated: new UnauthenticatedConnections(this.#parts.limits),
      streaming: true,
      streams: new Set<SseWriter>(),
    };
    const listener = this.#newListener(
      context,
      tls ? newTlsServer(tls, this.#parts.limits, this.#parts.clock) : newHttpServer(this.#parts.limits),
    );
    await listening(listener.server, `${host}:${port}`, () => listener.server.listen(port, host));
    const address = `${tls ? "https" : "http"}://${name}:${listener.port}`;
    this.#parts.addresses.push(address);
    return this.#serve(listener, address);
  }

  /** Listens on a Unix socket that only this user can open. Its clients are the operator. */
  async listenSocket(path: string): Promise<Served> {
    const context = { operator: true, secure: true, streaming: true, streams: new Set<SseWriter>() };
    const listener = this.#newListener(context, newHttpServer(this.#parts.limits));
    await listenOnSocket(listener.server, path);
    return this.#serve(listener, path);
  }

  /** Listens for other nodes, which have authenticated whom they name. */
  async listenForNodes({ host, port }: Pick<ListenOptions, "host" | "port">): Promise<Served> {
    const { cluster, limits } = this.#parts;
    if (!cluster) throw new Error("a Reins that is no node listens for none");
    const context = {
      operator: false,
      link: true,
      secure: true,
      streaming: true,
      streams: new Set<SseWriter>(),
    };
    const listener = this.#newListener(context, cluster.link.newServer(limits));
    await listening(listener.server, `${host}:${port}`, () => listener.server.listen(port, host));
    return this.#serve(listener, `${host.includes(":") ? `[${host}]` : host}:${listener.port}`);
  }

  /** Handles a request of this process with the operator's rights; a `fetch` for clients of the API. */
  async fetch(url: string, { method, headers, body }: FetchRequest): Promise<Response> {
    const { pathname, search } = new URL(url);
    const payload = typeof body === "string" ? { payload: body } : {};
    const request = { method, url: pathname + search, headers: { ...headers }, ...payload };
    // Awaited inside, because injection starts lazily.
    const answer = await inProcess(async () => await this.#parts.application.inject(request));
    return new Response(answer.payload || null, {
      status: answer.statusCode,
      headers: { "content-type": String(answer.headers["content-type"]) },
    });
  }

  /** Stops accepting, ends streams, and waits for running requests for a while. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener.close()));
    await this.#closeRoutes();
    await this.#parts.application.close();
  }

  #newListener(context: ListenerContext, server: Server): Listener {
    const listener: Listener = new Listener({
      context,
      server,
      limits: this.#parts.limits,
      clock: this.#parts.clock,
      request: this.#parts.application.routing,
      upgrade: (request, socket, head) => this.#parts.upgrades.take(request, socket, head, context),
      closing: () => this.#closing(listener),
    });
    return listener;
  }

  #serve(listener: Listener, address: string): Served {
    this.#listeners.add(listener);
    return listener.served(address);
  }

  /** Closes upgraded connections with the last listener. */
  async #closing(listener: Listener): Promise<void> {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) await this.#closeRoutes();
  }

  async #closeRoutes(): Promise<void> {
    await Promise.all(this.#parts.routes.map((group) => group.close?.()));
  }
}

interface Parts {
  readonly application: FastifyInstance;
  readonly routes: readonly Routes[];
  readonly upgrades: Upgrades;
  /** The network addresses that it listens on. */
  readonly addresses: string[];
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly cluster: Cluster | undefined;
}
