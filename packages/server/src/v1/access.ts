import { basename } from "node:path";
import { setImmediate } from "node:timers/promises";
import { accessOperations, type Operation, openApi } from "@reins/api";
import { errorMessage } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { Access } from "../access/access.ts";
import type { Gatekeeper } from "../access/authenticator.ts";
import { cookieIn, setCookie } from "../access/cookie.ts";
import { Refusal } from "../problems.ts";
import type { Dialect } from "../routes/router.ts";
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
export function healthDialect({ harness, version, stalls }: HealthOptions): Dialect {
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
    mount(place) {
      place.plain(accessOperations.getHealth, async ({ otherwise }) => {
        const condition = await look();
        if (condition.status !== "ok") otherwise();
        return { ...condition, version, ...stallsOf(stalls?.()) };
      });
    },
  };
}

function stallsOf(stalls: Stalls | undefined): object {
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
export function loginDialect(
  access: Access,
  gatekeeper: Gatekeeper,
  addresses: () => readonly string[],
): Dialect {
  return {
    name: "login",
    mount(place) {
      place.plain(accessOperations.login, async ({ body, request, doorway, header }) => {
        const login = await access.login(body.code);
        if (!login) throw gatekeeper.refusalOfGuess(request, "the code was used, is over or never was");
        const { id, expires } = login;
        header("set-cookie", setCookie(access.cookie, id, { expires, secure: doorway.secure }));
        return { expires_at: expires.toISOString() };
      });
      place.governed(accessOperations.createLoginCode, async ({ principal }) => {
        const code = access.newCode(principal.id);
        return { code, addresses: addresses().map((address) => `${address}/ui/#${code}`) };
      });
      place.plain(accessOperations.logout, async ({ request, doorway, header }) => {
        const id = cookieIn(request, access.cookie);
        if (id === undefined) return undefined;
        await access.logout(id);
        header("set-cookie", setCookie(access.cookie, "", { expires: new Date(0), secure: doorway.secure }));
        return undefined;
      });
    },
  };
}

/** Describes everything that can be asked for, from the schemas that check it. */
export function descriptionDialect(operations: readonly Operation[], version: string): Dialect {
  let described: object | undefined;
  return {
    name: "description",
    mount(place) {
      place.plain(accessOperations.getApiDescription, async () => {
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
export const removedDialect: Dialect = {
  name: "removed",
  mount(place) {
    const gone = () => new Refusal("gone", "v1 API removed; use /v1");
    for (const [method, path] of REMOVED) place.refuse(path, method, gone);
    const later = () => new Refusal("not_implemented", "OpenCode's API is not served yet");
    for (const path of ["/opencode", "/opencode/*"]) place.refuse(path, undefined, later);
  },
};
