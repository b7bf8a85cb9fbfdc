import { createHash, randomBytes as systemRandomBytes } from "node:crypto";
import { join } from "node:path";
import { knownTokens } from "@reins/ahp";
import { type Clock, createFile, systemClock } from "@reins/kit";
import { LoginCodes, Logins, type NewLogin } from "./logins.ts";
import { AccessError, newSecret, type RandomBytes, readPrivate } from "./secrets.ts";

/** The id of the operator's principal: of whoever sits at this machine. */
export const LOCAL = "local";

/** Where access is kept, and what an operator set. */
export interface AccessOptions {
  readonly home: string;
  /** Tokens of the operator's choice, in place of the one that the home keeps. */
  readonly tokens?: readonly string[];
  readonly clock?: Clock;
  readonly randomBytes?: RandomBytes;
}

/** How the operator gets in without a token of the identity's: by the start token, or logged in with a one-time code. */
export class Access {
  /** The start token: it stands for the operator. */
  readonly token: string;
  /** The name of the cookie. Cookies know no ports, so that each home has its own. */
  readonly cookie: string;
  readonly #known: ReturnType<typeof knownTokens>;
  /** The start tokens that were shown, and whose they are: what is right once is right as long as this runs. */
  readonly #shown = new Map<string, string>();
  readonly #codes: LoginCodes;
  readonly #logins: Logins;

  private constructor(
    home: string,
    tokens: readonly [string, ...string[]],
    codes: LoginCodes,
    logins: Logins,
  ) {
    [this.token] = tokens;
    this.cookie = `reins_${createHash("sha256").update(home).digest("hex").slice(0, 8)}`;
    this.#known = knownTokens(tokens.map((secret) => ({ principal: LOCAL, secret })));
    this.#codes = codes;
    this.#logins = logins;
  }

  /** Reads what a home keeps, and makes what it lacks. */
  static async open(options: AccessOptions): Promise<Access> {
    const { home, tokens = [], clock = systemClock, randomBytes = systemRandomBytes } = options;
    const [first, ...others] = tokens;
    const path = join(home, "logins.json");
    const [token, logins] = await Promise.all([
      first ?? startToken(home, randomBytes),
      Logins.open({ path, clock, randomBytes }),
    ]);
    return new Access(home, [token, ...others], new LoginCodes(clock, randomBytes), logins);
  }

  /** A code that lets a browser in, once and within ten minutes; by default as the operator. */
  newCode(principal: string = LOCAL): string {
    return this.#codes.make(principal);
  }

  /** Exchanges a code for a login; `undefined` when it is worth nothing. */
  async login(code: string): Promise<NewLogin | undefined> {
    const principal = this.#codes.take(code);
    return principal === undefined ? undefined : this.#logins.begin(principal);
  }

  /** Ends a login. */
  logout(id: string): Promise<void> {
    return this.#logins.end(id);
  }

  /** The principal of a login. */
  ofLogin(id: string): string | undefined {
    return this.#logins.principalOf(id);
  }

  /** The principal of a start token; takes the same time for any guess. */
  ofToken(secret: string): string | undefined {
    // A guess is compared with what was shown only where both have the same hash, of which nobody outside knows the seed.
    const known = this.#shown.get(secret);
    if (known !== undefined) return known;
    const principal = this.#known({ kind: "bearer", value: secret });
    if (principal !== undefined) this.#shown.set(secret, principal);
    return principal;
  }
}

/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]{16,4096}$/;

/** The token that a home keeps for whoever sits at this machine; made on first use, so that a restart locks nobody out. */
async function startToken(home: string, randomBytes: RandomBytes): Promise<string> {
  const path = join(home, "start-token");
  const kept = await readPrivate(path);
  if (kept !== undefined) return checked(kept, path);
  const token = `reins_${newSecret(randomBytes)}`;
  if (await createFile(path, `${token}\n`)) return token;
  // Somebody else was first.
  return checked((await readPrivate(path)) ?? "", path);
}

function checked(kept: string, path: string): string {
  const token = kept.trimEnd();
  if (TOKEN.test(token)) return token;
  throw new AccessError("damaged", `${path} holds no token; remove it, and a new one is made`);
}
