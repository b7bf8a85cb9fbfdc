import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { type Clock, errorCode, replaceFile, SerialQueue } from "@reins/kit";
import { z } from "zod";

const LIFETIME_MS = 7 * 86_400_000;
const MOST = 256;

const Kept = z.object({
  hash: z.string(),
  principal: z.string(),
  tenant: z.string().optional(),
  expires: z.number(),
});
const KeptFile = z.object({ logins: z.array(Kept) });
type Kept = Readonly<z.infer<typeof Kept>>;

/** The principal of a login, and its tenant where that is known. */
export interface Holder {
  readonly id: string;
  readonly tenant?: string | undefined;
}

/** A new login. */
export interface NewLogin {
  /** The value of the cookie. */
  readonly id: string;
  readonly expires: Date;
}

export interface LoginsOptions {
  /** The file that stores them. */
  readonly path: string;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

/** The logins of browsers. Stores their hashes in a file, so that they survive a restart. */
export class Logins {
  readonly #options: LoginsOptions;
  #logins: ReadonlyMap<string, Kept>;
  readonly #writes = new SerialQueue();

  private constructor(options: LoginsOptions, logins: readonly Kept[]) {
    this.#options = options;
    this.#logins = new Map(logins.map((login) => [login.hash, login]));
  }

  /** Reads the logins of a home; an unreadable file counts as empty. */
  static async open(options: LoginsOptions): Promise<Logins> {
    return new Logins(options, loginsIn(await readPrivate(options.path)));
  }

  /** Creates a login. Beyond the limit, ends the oldest of the principal with the most. */
  async begin({ id: principal, tenant }: Holder, until = this.#now() + LIFETIME_MS): Promise<NewLogin> {
    const id = newSecret(this.#options.randomBytes);
    const expires = Math.min(until, this.#now() + LIFETIME_MS);
    const others = [...this.#logins.values()].filter((login) => login.expires > this.#now());
    const all = [...others, { hash: hashOf(id), principal, tenant, expires }];
    const ended = all.length > MOST ? evictionCandidate(all) : undefined;
    await this.#keep(all.filter((login) => login !== ended));
    return { id, expires: new Date(expires) };
  }

  /** A login; undefined after it expired. */
  find(id: string): Pick<Kept, "principal" | "tenant" | "expires"> | undefined {
    const login = this.#logins.get(hashOf(id));
    return login && login.expires > this.#now() ? login : undefined;
  }

  /** Ends a login. */
  async end(id: string): Promise<void> {
    const hash = hashOf(id);
    if (!this.#logins.has(hash)) return;
    await this.#keep([...this.#logins.values()].filter((login) => login.hash !== hash));
  }

  /** The change takes effect at once; writes to the file are serialized. */
  #keep(logins: readonly Kept[]): Promise<void> {
    this.#logins = new Map(logins.map((login) => [login.hash, login]));
    return this.#writes.run(() => {
      const text = JSON.stringify({ logins: [...this.#logins.values()] });
      return replaceFile(this.#options.path, `${text}\n`);
    });
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

function loginsIn(text: string | undefined): readonly Kept[] {
  if (text === undefined) return [];
  try {
    return KeptFile.parse(JSON.parse(text)).logins;
  } catch {
    return [];
  }
}

const CODE_LIFETIME_MS = 10 * 60_000;
const MOST_CODES = 64;

interface Code {
  readonly hash: string;
  readonly principal: string;
  readonly tenant: string | undefined;
  readonly expires: number;
  /** When the credential that it was made with ends, and with it the login. */
  readonly until: number | undefined;
}

/** One-time login codes, valid for ten minutes. Stores only hashes. */
export class LoginCodes {
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  readonly #codes = new Map<string, Code>();

  constructor(clock: Clock, randomBytes: RandomBytes) {
    this.#clock = clock;
    this.#randomBytes = randomBytes;
  }

  /** Creates a code for a principal. Beyond the limit, drops the oldest of the principal with the most. */
  make({ id: principal, tenant }: Holder, until: number | undefined): string {
    const code = newSecret(this.#randomBytes);
    const hash = hashOf(code);
    const expires = this.#clock.now().getTime() + CODE_LIFETIME_MS;
    this.#codes.set(hash, { hash, principal, tenant, expires, until });
    const forgotten =
      this.#codes.size > MOST_CODES ? evictionCandidate([...this.#codes.values()]) : undefined;
    if (forgotten) this.#codes.delete(forgotten.hash);
    return code;
  }

  /** Redeems a code: its principal, and until when a login lasts; undefined if it is unknown, used or expired. */
  take(code: string): { readonly holder: Holder; readonly until: number | undefined } | undefined {
    const hash = hashOf(code);
    const found = this.#codes.get(hash);
    this.#codes.delete(hash);
    const { principal: id, tenant, expires = 0, until } = found ?? {};
    if (id === undefined || Math.min(expires, until ?? expires) <= this.#clock.now().getTime())
      return undefined;
    return { holder: { id, tenant }, until };
  }
}

/**
 * Fair eviction: the oldest item of the principal that holds the most, so that no principal displaces the items of
 * others. Expects the oldest first.
 */
function evictionCandidate<Held extends { readonly principal: string }>(
  all: readonly Held[],
): Held | undefined {
  const byPrincipal = [...Map.groupBy(all, ({ principal }) => principal).values()];
  const most = Math.max(...byPrincipal.map(({ length }) => length));
  return byPrincipal.find(({ length }) => length === most)?.[0];
}

/** A file of secrets that others can read, or that is damaged. */
export class AccessError extends Error {
  override readonly name = "AccessError";
  readonly code: "exposed" | "damaged";

  constructor(code: AccessError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A cryptographic source of random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

const SECRET_BYTES = 32;

/** A random secret of 256 bits. */
export function newSecret(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
}

/** The hash stored instead of a secret. No key or salt is needed for 256 random bits. */
function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

const OTHERS = 0o077;
const MOST_BYTES = 1024 * 1024;

/** Reads a file of secrets; undefined if absent. Rejects a file that others can read, and a symbolic link. */
export async function readPrivate(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    if (errorCode(error) === "ELOOP")
      throw new AccessError("exposed", `${path} is a symbolic link; remove it`);
    throw error;
  });
  if (!file) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > MOST_BYTES)
      throw new AccessError("damaged", `${path} is not a file of ours; remove it`);
    if (process.platform !== "win32" && (stat.mode & OTHERS) !== 0)
      throw new AccessError("exposed", `others may read ${path}; remove it, and a new secret is made`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

type Headed = Pick<IncomingMessage, "headers">;

/** The value of a request's cookie. */
export function cookieIn({ headers }: Headed, name: string): string | undefined {
  for (const pair of (headers.cookie ?? "").split(";")) {
    const [key = "", value] = pair.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** Formats a cookie that scripts cannot read and other sites cannot send; an empty value deletes it. */
export function setCookie(
  name: string,
  value: string,
  { expires, secure }: { expires: Date; secure: boolean },
) {
  const rules = [`Path=/`, `Expires=${expires.toUTCString()}`, "HttpOnly", "SameSite=Strict"];
  return [`${name}=${value}`, ...rules, ...(secure ? ["Secure"] : [])].join("; ");
}

const SAFE: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"]);

/**
 * Explains why the cookie of a request must be ignored. Browsers attach cookies to requests from any page, and a page
 * on another port of this machine counts as the same site.
 */
export function cookieFault(
  request: Headed & Pick<IncomingMessage, "method">,
  upgrades: boolean,
): string | undefined {
  const { origin, host } = request.headers;
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none")
    return "the cookie counts only for pages of this server";
  if (origin !== undefined) {
    const own = host !== undefined && [`http://${host}`, `https://${host}`].includes(origin);
    return own ? undefined : "the cookie counts only for pages of this server";
  }
  if ((SAFE.has(request.method) && !upgrades) || site === "same-origin") return undefined;
  return "a change by cookie needs an Origin or Sec-Fetch-Site header that says it comes from a page of this server";
}
