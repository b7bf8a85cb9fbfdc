import { z } from "zod";
import { operation } from "./operation.ts";
import { Moment, named } from "./schema.ts";

/** Whether this Reins answers. */
const Health = named(
  "Health",
  z.looseObject({
    status: z
      .enum(["ok", "starting", "failed"])
      .describe("failed: it listens, but nothing can be decided; its log says why"),
    version: z.string(),
    reason: z.string().optional().describe("why it failed, without the names of folders"),
    durable_runs: z.string().optional().describe("why durable runs wait, if they do; all else goes on"),
    stalls: z
      .looseObject({ count: z.int(), last_at: Moment, last_ms: z.number() })
      .optional()
      .describe("how often the main thread was blocked for two seconds, if it did; the log says where"),
  }),
);

/** The code from the address that was printed at the start. */
const LoginCode = named("LoginCode", z.strictObject({ code: z.string().min(1).max(256) }));

/** A login; the response sets its cookie. */
const Login = named("Login", z.looseObject({ expires_at: Moment }));

/** A code for a browser, and where that browser may bring it. */
const NewLoginCode = named(
  "NewLoginCode",
  z.looseObject({
    code: z.string().describe("works once, for ten minutes, for the principal that requested it"),
    addresses: z
      .array(z.string())
      .describe("where this Reins listens, each with the page and the code; none where it listens nowhere"),
  }),
);

/** The ways in which a browser can log in beside a code. */
const LoginMethods = named(
  "LoginMethods",
  z.looseObject({ oidc: z.array(z.string()).describe("the OpenID issuers to log in with, by name") }),
);

/** Which OpenID issuer to log in with. */
const OidcLogin = named("OidcLogin", z.strictObject({ issuer: z.string().min(1).max(32) }));

/** Where the browser logs in. */
const BegunOidcLogin = named(
  "BegunOidcLogin",
  z.looseObject({ url: z.string().describe("where the browser goes; it comes back to the page") }),
);

/** What the browser brings back from its issuer. */
const OidcAnswer = named(
  "OidcAnswer",
  z.strictObject({
    code: z.string().min(1).max(3_000),
    state: z.string().min(1).max(256),
    iss: z.string().max(1_024).optional(),
  }),
);

/** A description of this API, OpenAPI 3.1. */
const ApiDescription = named("ApiDescription", z.looseObject({ openapi: z.string() }));

/** Health, login and the description of the API. */
export const accessOperations = {
  getHealth: operation({
    id: "get_health",
    method: "GET",
    path: "/v1/health",
    summary: "Whether this Reins answers; 503 while it starts, and where it cannot decide.",
    audience: "anyone",
    answer: Health,
    also: { status: 503, answer: Health },
  }),
  login: operation({
    id: "login",
    node: "logins",
    method: "POST",
    path: "/v1/login",
    summary: "Exchanges a one-time code for a cookie.",
    audience: "anyone",
    body: LoginCode,
    answer: Login,
    problems: ["unauthenticated", "timeout", "too_many_requests"],
  }),
  getLoginMethods: operation({
    id: "get_login_methods",
    method: "GET",
    path: "/v1/login/methods",
    summary: "The OpenID issuers that a browser can log in with.",
    audience: "anyone",
    answer: LoginMethods,
  }),
  beginOidcLogin: operation({
    id: "begin_oidc_login",
    node: "logins",
    method: "POST",
    path: "/v1/login/oidc",
    summary:
      "Begins a login with an OpenID issuer: authorization code with PKCE. Sets a cookie for this login.",
    audience: "anyone",
    body: OidcLogin,
    answer: BegunOidcLogin,
    problems: ["timeout", "too_many_requests", "not_found", "bad_gateway", "unavailable"],
  }),
  finishOidcLogin: operation({
    id: "finish_oidc_login",
    node: "logins",
    method: "POST",
    path: "/v1/login/oidc/answer",
    summary: "Exchanges what the issuer gave the browser for a cookie.",
    audience: "anyone",
    body: OidcAnswer,
    answer: Login,
    problems: [
      "unauthenticated",
      "forbidden",
      "timeout",
      "too_many_requests",
      "not_found",
      "bad_gateway",
      "unavailable",
    ],
  }),
  createLoginCode: operation({
    id: "create_login_code",
    node: "logins",
    method: "POST",
    path: "/v1/login/codes",
    summary: "Creates a code that logs a browser in as the caller.",
    audience: "person",
    status: 201,
    answer: NewLoginCode,
  }),
  logout: operation({
    id: "logout",
    node: "logins",
    method: "POST",
    path: "/v1/logout",
    summary: "Ends the login of the request's cookie.",
    audience: "principal",
  }),
  getApiDescription: operation({
    id: "get_api_description",
    method: "GET",
    path: "/openapi.json",
    summary: "This description.",
    audience: "principal",
    answer: ApiDescription,
  }),
} as const;
