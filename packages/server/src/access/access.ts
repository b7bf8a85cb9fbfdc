import { createHash, randomBytes as systemRandomBytes } from "node:crypto";
import { join } from "node:path";
import { knownTokens } from "@reins/ahp";
import { type Clock, createFile, systemClock } from "@reins/kit";
import {
  AccessError,
  type Holder,
  LoginCodes,
  Logins,
  type NewLogin,
  newSecret,
  type RandomBytes,
  readPrivate,
} from "./logins.ts";

/** The id of the operator's principal. */
export const LOCAL = "local";

export interface AccessOptions {
  readonly home: string;
  /** Tokens that the operator chose, instead of the home's own. */
  readonly tokens?: readonly string[];
  /** Names the cookie of several nodes, whose homes are different ones. */
  readonly cluster?: string | undefined;
  readonly clock?: Clock;
  readonly randomBytes?: RandomBytes;
}

/** Authenticates the operator by the start token or a login from a one-time code. */
export class Access {
  /** The start token; authenticates as the operator. */
  readonly token: string;
  /** The name of the cookie. One per home, or for all nodes, because cookies ignore ports. */
  readonly cookie: string;
  readonly #known: ReturnType<typeof knownTokens>;
  readonly #codes: LoginCodes;
  readonly #logins: Logins;

  private constructor(
    name: string,
    tokens: readonly [string, ...string[]],
    codes: LoginCodes,
    logins: Logins,
  ) {
    [this.token] = tokens;
    this.cookie = `reins_${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
    this.#known = knownTokens(tokens.map((secret) => ({ principal: LOCAL, secret })));
    this.#codes = codes;
    this.#logins = logins;
  }

  /** Reads the access files of a home and creates missing ones. */
  static async open(options: AccessOptions): Promise<Access> {
    const { home, tokens = [], clock = systemClock, randomBytes = systemRandomBytes } = options;
    const [first, ...others] = tokens;
    const path = join(home, "logins.json");
    const [token, logins] = await Promise.all([
      first ?? startToken(home, randomBytes),
      Logins.open({ path, clock, randomBytes }),
    ]);
    return new Access(
      options.cluster ?? home,
      [token, ...others],
      new LoginCodes(clock, randomBytes),
      logins,
    );
  }

  /** Creates a login code, valid once within ten minutes; by default for the operator. Its login ends at a moment at the latest. */
  newCode(principal: Holder = { id: LOCAL }, until?: number): string {
    return this.#codes.make(principal, until);
  }

  /** Exchanges a code for a login; undefined for an invalid one. */
  async login(code: string): Promise<NewLogin | undefined> {
    const taken = this.#codes.take(code);
    return taken && this.#logins.begin(taken.holder, taken.until);
  }

  /** Ends a login. */
  logout(id: string): Promise<void> {
    return this.#logins.end(id);
  }

  /** Begins a login of a principal, until a moment. */
  begin(principal: Holder, until: Date): Promise<NewLogin> {
    return this.#logins.begin(principal, until.getTime());
  }

  /** The principal of a login, and until when it lasts. */
  ofLogin(id: string): ReturnType<Logins["find"]> {
    return this.#logins.find(id);
  }

  /** The principal of a start token; takes the same time for any guess. */
  ofToken(secret: string): string | undefined {
    return this.#known({ kind: "bearer", value: secret });
  }
}

/** Characters that an HTTP header can carry. */
const TOKEN = /^[\x21-\x7e]{16,4096}$/;

/** The operator's token, stored in the home so that it survives a restart. Created on first use. */
async function startToken(home: string, randomBytes: RandomBytes): Promise<string> {
  const path = join(home, "start-token");
  const kept = await readPrivate(path);
  if (kept !== undefined) return checked(kept, path);
  const token = `reins_${newSecret(randomBytes)}`;
  if (await createFile(path, `${token}\n`)) return token;
  // Another process created it first.
  return checked((await readPrivate(path)) ?? "", path);
}

function checked(kept: string, path: string): string {
  const token = kept.trimEnd();
  if (TOKEN.test(token)) return token;
  throw new AccessError("damaged", `${path} holds no token; remove it, and a new one is made`);
}
