import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { accessOperations, type Operation, openApi } from "@reins/api";
import { errorMessage } from "@reins/kit";
import { StoreError } from "@reins/store";
import type { Harness } from "@reins/supervisor";
import type { Access } from "../access/access.ts";
import { type RequestAuthenticator, required } from "../access/authenticator.ts";
import { cookieIn, setCookie } from "../access/logins.ts";
import type { Oidc } from "../access/oidc/oidc.ts";
import { HttpProblem } from "../problems.ts";
import type { Routes } from "../routes/router.ts";
import type { Stalls } from "../watchdog/watchdog.ts";

export interface HealthOptions {
  readonly harness: () => Promise<Harness>;
  readonly version: string;
  /** Stalls of the main thread, where a watchdog runs. */
  readonly stalls?: (() => Stalls) | undefined;
  /** Why durable runs wait, if they do. */
  readonly runsOutage?: (() => string | undefined) | undefined;
}

interface Condition {
  readonly status: "ok" | "starting" | "failed";
  readonly reason?: string;
}

const OK: Condition = { status: "ok" };
const STARTING: Condition = { status: "starting" };
const MAX_REASON = 300;
const RUNS_WAIT = "they wait, because Restate does not answer; reins doctor and the log say why";

/** The health check. Public, so it discloses no paths. */
export function healthRoutes({ harness, version, stalls, runsOutage }: HealthOptions): Routes {
  let failed: Condition | undefined;
  /** Does not wait: reports `starting` for a harness that is not open yet, and the last failure until it is. */
  const look = (): Promise<Condition> => {
    const opened = harness().then(
      ({ store: { outage } }) => {
        failed = outage === undefined ? undefined : { status: "failed", reason: outage };
        return failed ?? OK;
      },
      (error: unknown) => {
        failed = { status: "failed", reason: reasonOf(error) };
        return failed;
      },
    );
    return Promise.race([opened, setImmediate(undefined).then(() => failed ?? STARTING)]);
  };
  return {
    name: "health",
    mount(router) {
      router.withoutHarness(accessOperations.getHealth, async ({ otherwise }) => {
        const condition = await look();
        if (condition.status !== "ok") otherwise();
        const waits = runsOutage?.() === undefined ? {} : { durable_runs: RUNS_WAIT };
        return { ...condition, version, ...waits, ...stallsOf(stalls?.()) };
      });
    },
  };
}

function stallsOf(stalls: Stalls | undefined) {
  if (!stalls?.last) return {};
  const { count, last } = stalls;
  return { stalls: { count, last_at: last.at, last_ms: last.ms } };
}

/** The reason of a failure, with paths reduced to file names, and without the address and user of a database. */
function reasonOf(error: unknown): string {
  if (error instanceof StoreError && error.code === "unavailable")
    return "the database cannot be reached or used; reins doctor and the log say why";
  const message = errorMessage(error);
  return message.replaceAll(/(?:\/[^\s/"'`:]+){2,}\/?/g, (path) => basename(path)).slice(0, MAX_REASON);
}

export interface LoginOptions {
  readonly access: Access;
  readonly oidc: Oidc;
  readonly authenticator: RequestAuthenticator;
  readonly harness: () => Promise<Harness>;
  readonly addresses: () => readonly string[];
}

/** Login and logout of browsers. */
export function loginRoutes({ access, oidc, authenticator, harness, addresses }: LoginOptions): Routes {
  const oidcCookie = `${access.cookie}_oidc`;
  return {
    name: "login",
    mount(router) {
      router.withoutHarness(accessOperations.getLoginMethods, async () => ({ oidc: [...oidc.logins] }));
      router.withoutHarness(accessOperations.beginOidcLogin, async ({ body, request, context, header }) => {
        const { secure } = context;
        const { url, secret, expires } = await oidc
          .begin(body.issuer, pageOf(request, secure))
          .catch((error) => {
            throw authenticator.oidcProblem(error, request);
          });
        header("set-cookie", setCookie(oidcCookie, secret, { expires, secure }));
        return { url };
      });
      router.withoutHarness(accessOperations.finishOidcLogin, async ({ body, request, context, header }) => {
        const { secure } = context;
        const { identity } = await required(harness);
        const secret = cookieIn(request, oidcCookie);
        const { principal, until } = await oidc
          .finish(body, secret, pageOf(request, secure), identity)
          .catch((error) => {
            throw authenticator.oidcProblem(error, request);
          });
        const { id, expires } = await access.begin(principal, until);
        // The other cookie ends by itself; its code was used.
        header("set-cookie", setCookie(access.cookie, id, { expires, secure }));
        return { expires_at: expires.toISOString() };
      });
      router.withoutHarness(accessOperations.login, async ({ body, request, context, header }) => {
        const login = await access.login(body.code);
        if (!login) throw authenticator.failedAttempt(request, "the code was used, is over or never was");
        const { id, expires } = login;
        header("set-cookie", setCookie(access.cookie, id, { expires, secure: context.secure }));
        return { expires_at: expires.toISOString() };
      });
      router.handle(accessOperations.createLoginCode, async ({ principal, caller }) => {
        const code = access.newCode(principal, caller.until);
        return { code, addresses: addresses().map((address) => `${address}/ui/#${code}`) };
      });
      router.withoutHarness(accessOperations.logout, async ({ request, context, header }) => {
        const id = cookieIn(request, access.cookie);
        if (id === undefined) return undefined;
        await access.logout(id);
        header("set-cookie", setCookie(access.cookie, "", { expires: new Date(0), secure: context.secure }));
        return undefined;
      });
    },
  };
}

/** The address of the page, as the browser has it; the gateway answers only to its own hosts. */
function pageOf({ headers }: Pick<IncomingMessage, "headers">, secure: boolean): string {
  return `${secure ? "https" : "http"}://${headers.host ?? "localhost"}/ui/`;
}

/** The OpenAPI description of the registered operations. */
export function descriptionRoutes(operations: readonly Operation[], version: string): Routes {
  let described: ReturnType<typeof openApi> | undefined;
  return {
    name: "description",
    mount(router) {
      router.withoutHarness(accessOperations.getApiDescription, async () => {
        described ??= openApi(operations, { title: "Reins", version });
        return described;
      });
    },
  };
}

/** Paths of an earlier API; they are not reused. */
const REMOVED: readonly (readonly [method: "GET" | "POST", path: string])[] = [
  ["POST", "/v1/sessions/:id"],
  ["POST", "/v1/sessions/:id/messages"],
  ["POST", "/v1/sessions/:id/messages/stream"],
  ["POST", "/v1/sessions/:id/terminate"],
  ["GET", "/v1/sessions/:id/events"],
  ["GET", "/v1/sessions/:id/events/sse"],
  ["POST", "/v1/sessions/:id/permissions/:permission/reply"],
  ["POST", "/v1/sessions/:id/questions/:question/reply"],
  ["POST", "/v1/sessions/:id/questions/:question/reject"],
  ["GET", "/v1/agents/:agent/models"],
  ["GET", "/v1/agents/:agent/modes"],
];

/** Responds with 410 to an earlier API. */
export const removedRoutes: Routes = {
  name: "removed",
  mount(router) {
    const gone = () => new HttpProblem("gone", "v1 API removed; use /v1");
    for (const [method, path] of REMOVED) router.reject(path, method, gone);
  },
};
