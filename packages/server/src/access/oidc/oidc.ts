import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Clock, errorMessage } from "@reins/kit";
import type { Identity, Principal } from "@reins/supervisor";
import { z } from "zod";
import { HttpProblem, toHttpProblem } from "../../problems.ts";
import { fetchJson, OidcError, OidcIssuer, type TokenClaims, vouchedBy } from "./issuer.ts";
import type { OidcSettings } from "./settings.ts";

/** A principal, and until when its credential is valid. */
export interface AdmittedUser {
  readonly principal: Principal;
  readonly until: Date;
}

/** What a browser brings back from its issuer. */
export interface LoginAnswer {
  readonly code: string;
  readonly state: string;
  readonly iss?: string | undefined;
}

/** A login that a browser begins. */
export interface BegunLogin {
  /** Where the browser goes. */
  readonly url: string;
  /** Binds the answer to this browser. */
  readonly secret: string;
  /** When it is too late for the answer. */
  readonly expires: Date;
}

const TokenAnswer = z.object({ id_token: z.string() });

/** The most codes that are exchanged at once, because callers without a credential cause it. */
const MOST_EXCHANGES = 8;
/** How long a browser may take to log in with its issuer. */
const LOGIN_MS = 10 * 60_000;
const MAX_TOKEN = 16_384;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** The OpenID issuers whose users may use this server. Rejects with an {@link HttpProblem}. */
export class Oidc {
  readonly #issuers: readonly OidcIssuer[];
  readonly #clock: Clock;
  #exchanges = 0;

  constructor(settings: readonly OidcSettings[], clock: Clock) {
    this.#issuers = settings.map((each) => new OidcIssuer(each, clock));
    this.#clock = clock;
  }

  /** The names of the issuers that browsers can log in with. */
  get logins(): readonly string[] {
    return this.#issuers.flatMap(({ settings: { name, client_id } }) =>
      client_id === undefined ? [] : [name],
    );
  }

  /** Whether a secret has the form of an issuer's token. */
  mayBeToken(secret: string): boolean {
    return this.#issuers.length > 0 && secret.length <= MAX_TOKEN && JWT.test(secret);
  }

  /** The principal of a token of one of the issuers. Throws an {@link OidcError} for one that is not valid. */
  async admit(token: string, identity: Pick<Identity, "admit">): Promise<AdmittedUser> {
    const issuer = this.#issuers.find(({ settings }) => settings.issuer === issuerIn(token));
    if (!issuer) throw new OidcError("refused", "the token is of no issuer that is known here");
    const claims = await issuer.verify(token, issuer.settings.audience);
    return admitted(issuer.settings, claims, new Date(claims.exp * 1_000), identity);
  }

  /** Begins the login of a browser with an issuer. */
  async begin(name: string, page: string): Promise<BegunLogin> {
    const { issuer, client } = this.#loginIssuer(name);
    const { authorization_endpoint } = await issuer.metadata();
    if (authorization_endpoint === undefined)
      throw new HttpProblem("bad_gateway", `the issuer "${name}" has no login`);
    const secret = randomBytes(32).toString("base64url");
    const url = new URL(authorization_endpoint);
    const challenge = createHash("sha256")
      .update(derived("verifier", name, secret))
      .digest("base64url");
    const parameters = {
      response_type: "code",
      client_id: client,
      redirect_uri: issuer.settings.redirect_uri ?? page,
      scope: issuer.settings.request_scopes.join(" "),
      state: stateOf(name, secret),
      nonce: derived("nonce", name, secret),
      code_challenge: challenge,
      code_challenge_method: "S256",
    };
    for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value);
    return { url: url.href, secret, expires: new Date(this.#clock.now().getTime() + LOGIN_MS) };
  }

  /** Ends the login of a browser: exchanges its code, and admits the user that the issuer names. */
  async finish(
    { code, state, iss }: LoginAnswer,
    secret: string | undefined,
    page: string,
    identity: Pick<Identity, "admit">,
  ): Promise<AdmittedUser> {
    const [name = ""] = state.split(".");
    const { issuer, client } = this.#loginIssuer(name);
    const { settings } = issuer;
    if (secret === undefined || !isEqual(stateOf(name, secret), state))
      throw new OidcError("refused", "this browser began no such login, or another one since; log in again");
    const { token_endpoint, ...metadata } = await issuer.metadata();
    const isNamed = iss !== undefined || metadata.authorization_response_iss_parameter_supported === true;
    if (isNamed && iss !== settings.issuer)
      throw new OidcError("refused", "the answer is from another issuer; log in again");
    if (token_endpoint === undefined)
      throw new HttpProblem("bad_gateway", `the issuer "${name}" has no login`);
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: settings.redirect_uri ?? page,
      code_verifier: derived("verifier", name, secret),
    });
    const { id_token } = await this.#exchange(token_endpoint, form, settings, metadata);
    const claims = await issuer.verify(id_token, [client]);
    const isOurs =
      claims.azp === undefined ? ![claims.aud].flat().some((each) => each !== client) : claims.azp === client;
    if (!isOurs || claims.nonce !== derived("nonce", name, secret))
      throw new OidcError("refused", "the issuer answered another login; log in again");
    const until = new Date(this.#clock.now().getTime() + settings.login * 3_600_000);
    return admitted(settings, claims, until, identity);
  }

  async #exchange(
    endpoint: string,
    form: URLSearchParams,
    { client_id = "", client_secret }: OidcSettings,
    { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] }: Partial<ClientMethods>,
  ): Promise<z.infer<typeof TokenAnswer>> {
    const headers: Record<string, string> = {};
    if (client_secret !== undefined && methods.includes("client_secret_basic")) {
      const pair = [client_id, client_secret].map(encodeURIComponent).join(":");
      headers.authorization = `Basic ${Buffer.from(pair).toString("base64")}`;
    } else {
      form.set("client_id", client_id);
      if (client_secret !== undefined) form.set("client_secret", client_secret);
    }
    if (this.#exchanges >= MOST_EXCHANGES)
      throw new HttpProblem("too_many_requests", "too many logins are under way", {
        headers: { "retry-after": "1" },
      });
    this.#exchanges += 1;
    try {
      return TokenAnswer.parse(await fetchJson(endpoint, { method: "POST", body: form, headers }));
    } catch (error) {
      throw new OidcError("refused", `the issuer did not take the code: ${errorMessage(error)}`, {
        cause: error,
      });
    } finally {
      this.#exchanges -= 1;
    }
  }

  #loginIssuer(name: string): { readonly issuer: OidcIssuer; readonly client: string } {
    const issuer = this.#issuers.find(({ settings }) => settings.name === name);
    const client = issuer?.settings.client_id;
    if (issuer && client !== undefined) return { issuer, client };
    throw new HttpProblem("not_found", "there is no login with an issuer of that name");
  }
}

interface ClientMethods {
  readonly token_endpoint_auth_methods_supported: readonly string[] | undefined;
}

async function admitted(
  settings: OidcSettings,
  claims: TokenClaims,
  until: Date,
  identity: Pick<Identity, "admit">,
): Promise<AdmittedUser> {
  const vouched = vouchedBy(settings, claims, until);
  if (!vouched)
    throw new HttpProblem("forbidden", `the settings of "${settings.name}" give this user no tenant`);
  const principal = await identity.admit(vouched).catch((error: unknown) => {
    throw toHttpProblem(error);
  });
  return { principal, until };
}

/** The issuer that a token names, before it is verified. */
function issuerIn(token: string): unknown {
  try {
    const body: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    return typeof body === "object" && body !== null && "iss" in body ? body.iss : undefined;
  } catch {
    return undefined;
  }
}

/** Everything that one login needs comes from the secret that its browser keeps. */
function derived(purpose: string, issuer: string, secret: string): string {
  return createHash("sha256")
    .update(JSON.stringify([purpose, issuer, secret]))
    .digest("base64url");
}

function stateOf(issuer: string, secret: string): string {
  return `${issuer}.${derived("state", issuer, secret)}`;
}

function isEqual(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
