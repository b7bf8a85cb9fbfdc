import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { accessOperations, type Operation, openApi } from "@reins/api";
import { errorMessage } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Access } from "../access/access.ts";
import type { RequestAuthenticator } from "../access/authenticator.ts";
import { cookieIn, setCookie } from "../access/cookie.ts";
import { HttpProblem } from "../problems.ts";
import type { Routes } from "../routes/router.ts";
import type { Stalls } from "../watchdog/watchdog.ts";

/** What health is told from. */
export interface HealthOptions {
  readonly harness: () => Promise<Harness>;
  readonly version: string;
  /** How often the main thread stood still, where somebody watches it. */
  readonly stalls?: (() => Stalls) | undefined;
}

interface Condition {
  readonly status: "ok" | "starting" | "failed";
  readonly reason?: string;
}

const OK: Condition = { status: "ok" };
const STARTING: Condition = { status: "starting" };
const MAX_REASON = 300;

/** Tells whether this Reins answers. Anyone may ask, so that nothing of its files is told. */
export function healthRoutes({ harness, version, stalls }: HealthOptions): Routes {
  let failed: Condition | undefined;
  /** Does not wait: a harness that is not open at once is being opened; one that failed has failed until it is open. */
  const look = (): Promise<Condition> => {
    const opened = harness().then(
      () => {
        failed = undefined;
        return OK;
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
        return { ...condition, version, ...stallsOf(stalls?.()) };
      });
    },
  };
}

function stallsOf(stalls: Stalls | undefined) {
  if (!stalls?.last) return {};
  const { count, last } = stalls;
  return { stalls: { count, last_at: last.at, last_ms: last.ms } };
}

/** Why it failed, with files by their names alone. */
function reasonOf(error: unknown): string {
  const message = errorMessage(error);
  return message.replaceAll(/(?:\/[^\s/"'`:]+){2,}\/?/g, (path) => basename(path)).slice(0, MAX_REASON);
}

/** Lets browsers in with a code, and out again. */
export function loginRoutes(
  access: Access,
  authenticator: RequestAuthenticator,
  addresses: () => readonly string[],
): Routes {
  return {
    name: "login",
    mount(router) {
      router.withoutHarness(accessOperations.login, async ({ body, request, context, header }) => {
        const login = await access.login(body.code);
        if (!login) throw authenticator.failedAttempt(request, "the code was used, is over or never was");
        const { id, expires } = login;
        header("set-cookie", setCookie(access.cookie, id, { expires, secure: context.secure }));
        return { expires_at: expires.toISOString() };
      });
      router.handle(accessOperations.createLoginCode, async ({ principal }) => {
        const code = access.newCode(principal.id);
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

/** Describes everything that can be asked for, from the schemas that check it. */
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

/** What an earlier API had under `/v1`. These paths are not used again. */
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

/** Tells whoever comes with an earlier API that it is gone, or with one that is to come that it is not there yet. */
export const removedRoutes: Routes = {
  name: "removed",
  mount(router) {
    const gone = () => new HttpProblem("gone", "v1 API removed; use /v1");
    for (const [method, path] of REMOVED) router.reject(path, method, gone);
    const later = () => new HttpProblem("not_implemented", "OpenCode's API is not served yet");
    for (const path of ["/opencode", "/opencode/*"]) router.reject(path, undefined, later);
  },
};
